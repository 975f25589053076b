#pragma once

#include <memory>
#include <string>

#include "net/answer_reader.hpp"
#include "net/http.hpp"
#include "net/stall_watch.hpp"
#include "system/environment_lookup.hpp"

namespace shardkit {

struct HttpOptions {
  Seconds connect_timeout{10};
  StallLimit stall;
  std::string ca_file;    ///< PEM; empty: the system's
  std::string ca_folder;  ///< hashed, as c_rehash makes it; empty: the system's
  HeaderLimits header_limits;
};

/// The options that the environment asks for: certificates by AWS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE (the first
/// that is set) and SSL_CERT_DIR. (Proxies by http_proxy, https_proxy, all_proxy, no_proxy need no option.)
HttpOptions http_options(const EnvironmentLookup& environment);

/// One connection at a time over libcurl: HTTP/1.1, kept alive between requests, TLS always verified. For one thread at
/// a time; HttpPool is for several. The program ignores SIGPIPE, as run_app() does: over TLS, writing to a connection
/// that has gone would end it.
class HttpClient final : public Http {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient() override;

  HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) override;

 private:
  class Handles;
  struct Transfer;

  HttpOptions options_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace shardkit
