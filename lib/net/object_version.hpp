#pragma once

#include <string>

#include "net/http_message.hpp"

/// What tells one version of an object from another: ObjectInfo::version of stores.
namespace shardkit {

/// The ETag as it came, with its quotes; without one "last-modified DATE"; without both nothing.
std::string object_version(const HttpHeaders& headers);

/// Asks for that version only, where HTTP can: If-Match for a strong ETag, If-Unmodified-Since for a date. (A weak ETag
/// never matches: RFC 9110, 13.1.1. The answer's own version is compared in any case.)
void pin_version(HttpHeaders& headers, const std::string& version);

}  // namespace shardkit
