#pragma once

#include "core/error.hpp"
#include "net/http_client.hpp"

namespace shardkit::net {

/// The error of a transfer that libcurl ended with `code`, a CURLcode, in well-known words and with the remedy for
/// certificates. `detail` is libcurl's text, `os_error` the errno of a connection that failed, or 0.
Error transfer_error(int code, const char* detail, const Url& url, const HttpOptions& options, long os_error = 0);

}  // namespace shardkit::net
