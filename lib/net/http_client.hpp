#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"
#include "system/clock.hpp"
#include "system/probe.hpp"

namespace shardkit::net {

/// A stalled connection: fewer than `bytes_per_second` on average over a `window` of waiting.
struct StallLimit {
  double bytes_per_second = 1024;
  system::Seconds window{30};
};

/// Distinguishes a stalled connection from one whose reader pauses: only time spent waiting for the other side counts,
/// not the time in which a rate limit or a full disk delayed the reader. Looks four times in each window, so that a
/// stall is noticed at most a quarter of it late.
class StallWatch {
 public:
  explicit StallWatch(const StallLimit& limit) : limit_(limit) {}

  void on_bytes(std::uint64_t bytes) { quarters_[looks_ % quarters_.size()] += static_cast<double>(bytes); }
  /// Adds a wait; true if the connection is stalled.
  bool waited(system::Seconds duration) { return waited(duration, limit_.bytes_per_second); }
  /// The same with another limit than at first.
  bool waited(system::Seconds duration, double bytes_per_second);
  /// Received in the latest window.
  double bytes() const { return std::accumulate(quarters_.begin(), quarters_.end(), 0.0); }

 private:
  StallLimit limit_;
  std::array<double, 4> quarters_{};  ///< bytes in each of the latest quarters of a window
  std::size_t looks_ = 0;
  system::Seconds waited_{0};
};

/// A slow connection: less than `share` of the usual rate over a `window` of waiting, and the rest of its answer would
/// take longer than another one. The usual rate is that of recent answers of at least `from_bytes`. It is halved by
/// each connection that is given up, so that a network that became slow is soon the usual one.
struct SlowLimit {
  double share = 0;  ///< 0: no connection is slow
  system::Seconds window{5};
  std::uint64_t from_bytes = 1ULL << 20U;
};

struct HttpOptions {
  system::Seconds connect_timeout{10};
  StallLimit stall;
  SlowLimit slow;
  /// Bytes that a connection may receive ahead of its reader, so that a rate limit holds on the wire; 0: the system's.
  std::uint64_t receive_buffer = 0;
  std::string ca_file;    ///< PEM; empty: the system's
  std::string ca_name;    ///< the variable that names `ca_file`
  std::string ca_folder;  ///< hashed, as c_rehash makes it; empty: the system's
  HeaderLimits header_limits;
  std::string netrc_file;  ///< logins by host; may be missing; empty: none
  /// For messages: the variable and the proxy that libcurl takes for a scheme, "https_proxy ('http://proxy:3128')".
  std::map<std::string, std::string> proxies;
};

/// Options from the environment: certificates with AWS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE (the first that is set)
/// and SSL_CERT_DIR; logins in the file of NETRC, else ~/.netrc. (Proxies with http_proxy, https_proxy, all_proxy,
/// no_proxy need no option.)
HttpOptions http_options(const system::EnvironmentLookup& environment);

/// Connections with libcurl for any number of threads: HTTP/1.1, kept alive between requests, TLS always verified, with
/// one store of authorities. Each request in flight has its own, and idle ones are reused, the most recent of the same
/// server first. A new one may go to another address of its server. Thread-safe. The program ignores
/// SIGPIPE, like run_app(): with TLS, writing to a closed connection would end it.
class HttpPool final : public Http {
 public:
  explicit HttpPool(HttpOptions options);
  ~HttpPool() override;

  HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) override;

 private:
  class Connection;
  struct Transfer;
  std::unique_ptr<Connection> borrow(const Url& url);
  std::shared_ptr<void> trust(const Url& url);
  std::string fault_of(const HttpRequest& request, Transfer& transfer, system::Seconds waited);
  void note_rate(const Transfer& transfer, system::Seconds elapsed);

  HttpOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::shared_ptr<void> trust_;  ///< X509_STORE; read by the first request that needs it
  double usual_rate_ = 0;        ///< bytes per second; 0: not known
};

}  // namespace shardkit::net
