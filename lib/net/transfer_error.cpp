#include "net/transfer_error.hpp"

#include <cerrno>
#include <system_error>

#include <curl/curl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/x509_vfy.h>

namespace shardkit::net {
namespace {

/// The other side answers a TLS greeting with plain text.
bool is_without_tls(CURLcode code, std::string_view detail) {
  return code == CURLE_SSL_CONNECT_ERROR && detail.find("wrong version number") != std::string_view::npos;
}

/// A TLS alert (RFC 8446, 6) as the answer to plain HTTP.
bool is_alert(std::string_view answer) { return answer.starts_with("\x15\x03"); }

/// The connection ended without any answer.
bool is_silent(CURLcode code, const TransferFailure& failure) {
  return !failure.is_answered && (code == CURLE_SSL_CONNECT_ERROR || code == CURLE_RECV_ERROR ||
                                  code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING);
}

constexpr const char* kClientCertificate =
    "the server asks its clients for a certificate (mTLS), and shardkit has none; use an address that does not, such "
    "as a proxy on this machine that has one";

/// The server said that it ends the connection for lack of a client's certificate. TLS 1.2 does not say for lack of
/// what.
bool lacks_client_certificate(CURLcode code, std::string_view detail, const TransferFailure& failure) {
  return failure.tls.asks_for_certificate && is_silent(code, failure) &&
         (detail.find("alert") != std::string_view::npos || code == CURLE_SSL_CONNECT_ERROR);
}

/// What a connection without an answer may mean.
std::string silence_words(CURLcode code, const Url& url, const TransferFailure& failure) {
  if (!is_silent(code, failure)) return {};
  if (failure.tls.asks_for_certificate) return fmt::format("; {}", kClientCertificate);
  return url.scheme == "http" ? "; if this port of the server uses TLS, use https://" : "";
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
    case CURLE_OUT_OF_MEMORY:  // the error for a line beyond libcurl's own limits, until libcurl 8.6
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
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
std::string certificate_remedy(const HttpOptions& options, const TransferFailure& failure) {
  const long verdict = failure.certificate;
  if (failure.tls.is_other && !failure.tls.names.empty()) {
    return fmt::format("the certificate of the server is for '{}', not for '{}': use a name that it has",
                       fmt::join(failure.tls.names, "', '"), failure.tls.host);
  }
  if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID)
    return "renew the certificate on the server, or correct the clock of this machine";
  if (verdict == X509_V_OK) return "use a host name that the certificate of the server lists";
  return trusted_certificates(options);
}

/// A refused connection may be that of a proxy which the user does not think of.
std::string proxy_words(CURLcode code, std::string_view detail, const Url& url, const HttpOptions& options) {
  const auto proxy = options.proxies.find(url.scheme);
  const bool is_connection = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY ||
                             code == CURLE_OPERATION_TIMEDOUT || detail.find("CONNECT") != std::string_view::npos;
  if (!is_connection || proxy == options.proxies.end() || proxy->second.empty()) return {};
  return fmt::format("; hosts that no_proxy does not list are reached through the proxy in {}", proxy->second);
}

}  // namespace

std::optional<Error> proxy_refusal(long status, const Url& url, const HttpOptions& options) {
  if (status != 403 && status != 407) return std::nullopt;
  const auto proxy = options.proxies.find(url.scheme);
  return Error(ErrorCode::denied, At{url.display()},
               "'{}': the proxy{} does not let this request through (status {}): {}", url.display(),
               proxy == options.proxies.end() || proxy->second.empty() ? "" : " in " + proxy->second, status,
               status == 407 ? "put a login into its URL, http://USER:PASSWORD@HOST"
                             : "ask who runs it, or list this host in no_proxy");
}

Error transfer_error(int curl_code, const char* detail, const Url& url, const HttpOptions& options,
                     const TransferFailure& failure) {
  const auto code = static_cast<CURLcode>(curl_code);
  if (is_without_tls(code, detail)) {
    return Error(ErrorCode::unsupported, At{url.display()},
                 "'{}': this port of the server does not use TLS; use http://", url.display());
  }
  if (is_alert(failure.not_http)) {
    return Error(ErrorCode::unsupported, At{url.display()}, "'{}': this port of the server uses TLS; use https://",
                 url.display());
  }
  if (lacks_client_certificate(code, detail, failure)) {
    return Error(ErrorCode::denied, At{url.display()}, "'{}': {}", url.display(), kClientCertificate);
  }
  if (const auto refusal = proxy_refusal(failure.proxy_status, url, options)) return *refusal;
  const ErrorCode kind = error_code_of_curl(code);
  std::string what = failure.not_http.empty() ? everyday_words(code, failure.os_error) : "the answer is not HTTP";
  if (what.empty()) what = *detail != '\0' ? detail : curl_easy_strerror(code);
  what += proxy_words(code, detail, url, options) + silence_words(code, url, failure);
  if (kind == ErrorCode::denied) {
    what += "; " + certificate_remedy(options, failure);
  } else if (kind == ErrorCode::corrupt) {
    what = fmt::format("the answer has an endless header line ({})", what);
  }
  return Error(kind, fmt::format("'{}': {}", url.display(), what), url.display());
}

}  // namespace shardkit::net
