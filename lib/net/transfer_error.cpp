#include "net/transfer_error.hpp"

#include <cerrno>
#include <system_error>

#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/x509_vfy.h>

namespace shardkit::net {
namespace {

/// The other side answers a TLS greeting with plain text.
bool is_without_tls(CURLcode code, std::string_view detail) {
  return code == CURLE_SSL_CONNECT_ERROR && detail.find("wrong version number") != std::string_view::npos;
}

ErrorCode error_code_of_curl(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return ErrorCode::denied;
    case CURLE_URL_MALFORMAT:
      return ErrorCode::usage;
    case CURLE_OUT_OF_MEMORY:  // the error for a line beyond libcurl's own limits
    case CURLE_BAD_CONTENT_ENCODING:
      return ErrorCode::corrupt;
    default:
      return ErrorCode::network;
  }
}

/// Common failures in well-known words; empty for the rest. libcurl's own text does not say whether a connection was
/// refused or why else it failed.
std::string everyday_words(CURLcode code, long os_error) {
  if (code == CURLE_COULDNT_RESOLVE_PROXY) return "no answer about the name of the proxy from the name server";
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "no answer about this name from the name server";
  if (code == CURLE_PARTIAL_FILE) return "the connection was closed before the end of the answer";
  if (code == CURLE_GOT_NOTHING) return "the connection was closed without an answer";
  // A port that is not of a web server, or a proxy that breaks down: the next answer may be one.
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY) return "the answer is not HTTP";
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

/// What to do about a certificate that is not accepted.
std::string certificate_remedy(const HttpOptions& options, long verdict) {
  if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID)
    return "renew the certificate on the server, or correct the clock of this machine";
  if (verdict == X509_V_OK) return "use a host name that the certificate of the server lists";
  return trusted_certificates(options);
}

/// A refused connection may be that of a proxy which the user does not think of.
std::string proxy_words(CURLcode code, const Url& url, const HttpOptions& options) {
  const auto proxy = options.proxies.find(url.scheme);
  const bool is_connection = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY;
  if (!is_connection || proxy == options.proxies.end() || proxy->second.empty()) return {};
  return fmt::format("; hosts that no_proxy does not list are reached through the proxy in {}", proxy->second);
}

}  // namespace

Error transfer_error(int curl_code, const char* detail, const Url& url, const HttpOptions& options,
                     const TransferFailure& failure) {
  const auto code = static_cast<CURLcode>(curl_code);
  if (is_without_tls(code, detail)) {
    return Error(ErrorCode::unsupported, At{url.display()},
                 "'{}': this port of the server does not use TLS; use http://", url.display());
  }
  const ErrorCode kind = error_code_of_curl(code);
  std::string what = everyday_words(code, failure.os_error);
  what += proxy_words(code, url, options);
  if (what.empty()) what = *detail != '\0' ? detail : curl_easy_strerror(code);
  if (kind == ErrorCode::denied) {
    what += "; " + certificate_remedy(options, failure.certificate);
  } else if (kind == ErrorCode::corrupt) {
    what = fmt::format("the answer has an endless header line ({})", what);
  }
  return Error(kind, fmt::format("'{}': {}", url.display(), what), url.display());
}

}  // namespace shardkit::net
