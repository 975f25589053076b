#pragma once

#include "core/error.hpp"
#include "net/tls.hpp"

namespace shardkit::net {

/// What libcurl knows of a transfer that failed.
struct TransferFailure {
  long os_error = 0;     ///< errno of the connection that failed; 0: none
  long certificate = 0;  ///< OpenSSL's verdict on the certificates (X509_V_*); 0 also if only the host name was wrong
  TlsPeer tls = {};
  long proxy_status = 0;      ///< of the proxy's answer to CONNECT; 0: none
  bool is_answered = false;   ///< headers came, or other bytes
  std::string not_http = {};  ///< the start of an answer that is not HTTP
};

/// The error of a transfer that libcurl ended with `code`, a CURLcode, in well-known words and with the remedy for
/// certificates. `detail` is libcurl's text.
Error transfer_error(int code, const char* detail, const Url& url, const HttpOptions& options,
                     const TransferFailure& failure = {});

/// A proxy that does not let a request through; empty for other statuses of its answers.
std::optional<Error> proxy_refusal(long status, const Url& url, const HttpOptions& options);

}  // namespace shardkit::net
