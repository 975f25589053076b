#include "net/transfer_error.hpp"

#include <cerrno>
#include <system_error>

#include <curl/curl.h>
#include <fmt/format.h>

namespace shardkit::net {
namespace {

ErrorCode error_code_of_curl(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return ErrorCode::denied;
    case CURLE_URL_MALFORMAT:
      return ErrorCode::usage;
    case CURLE_OUT_OF_MEMORY:         // the error for a line beyond libcurl's own limits
    case CURLE_UNSUPPORTED_PROTOCOL:  // an answer that is not HTTP
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return ErrorCode::corrupt;
    default:
      return ErrorCode::network;
  }
}

/// Common failures in well-known words; empty for the rest. libcurl's own text does not say whether a connection was
/// refused or why else it failed.
std::string everyday_words(CURLcode code, long os_error) {
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "no answer about this name from the name server";
  if (code == CURLE_OPERATION_TIMEDOUT) return "timed out";
  if (code != CURLE_COULDNT_CONNECT || os_error == 0) return {};
  if (os_error == ECONNREFUSED) return "connection refused";
  return std::error_code(static_cast<int>(os_error), std::generic_category()).message();
}

/// The certificates that decided, by the variable that the user can change.
std::string trusted_certificates(const HttpOptions& options) {
  const std::string folder =
      options.ca_folder.empty() ? "" : fmt::format(" and those in SSL_CERT_DIR ('{}')", options.ca_folder);
  if (!options.ca_name.empty()) {
    return fmt::format("trusted are the certificates in {} ('{}'){}; add that of your own authority there",
                       options.ca_name, options.ca_file, folder);
  }
  return fmt::format("trusted are the certificates of this system{}; give that of your own authority in SSL_CERT_FILE",
                     folder);
}

}  // namespace

Error transfer_error(int curl_code, const char* detail, const Url& url, const HttpOptions& options, long os_error) {
  const auto code = static_cast<CURLcode>(curl_code);
  const ErrorCode kind = error_code_of_curl(code);
  std::string what = *detail != '\0' ? detail : curl_easy_strerror(code);
  if (const std::string words = everyday_words(code, os_error); !words.empty()) {
    what = fmt::format("{} ({})", words, what);
  }
  if (kind == ErrorCode::denied) {
    what += "; " + trusted_certificates(options);
  } else if (kind == ErrorCode::corrupt) {
    what = fmt::format("the answer is not HTTP, or has an endless header line ({})", what);
  }
  return Error(kind, fmt::format("'{}': {}", url.display(), what), url.display());
}

}  // namespace shardkit::net
