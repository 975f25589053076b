#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"
#include "system/clock.hpp"
#include "system/probe.hpp"

namespace shardkit::net {

/// A stalled connection: fewer than `bytes_per_second` on average over a `window` of waiting.
struct StallLimit {
  double bytes_per_second = 1;
  system::Seconds window{30};
};

/// Distinguishes a stalled connection from one whose reader pauses: only time spent waiting for the other side counts,
/// not the time in which a rate limit or a full disk delayed the reader.
class StallWatch {
 public:
  explicit StallWatch(const StallLimit& limit) : limit_(limit) {}

  void came(std::uint64_t bytes) { bytes_ += static_cast<double>(bytes); }
  /// Adds a wait; true if the connection is stalled.
  bool waited(system::Seconds duration);

 private:
  StallLimit limit_;
  double bytes_ = 0;
  system::Seconds waited_{0};
};

/// Maximum size of all headers of an answer.
struct HeaderLimits {
  std::size_t fields = 256;
  std::size_t bytes = 64UL << 10U;
};

/// Builds an answer from its lines and the pieces of its body, and passes both to the receiver. header() and body()
/// never throw, because their caller is a C library: errors of the handlers are rethrown by finish().
class AnswerReader {
 public:
  /// All three outlive the reader.
  AnswerReader(const HttpRequest& request, const HeadHandler& on_head, const HeaderLimits& limits)
      : request_(request), on_head_(on_head), limits_(limits) {}

  /// A header line, with its line end: status lines, fields, the empty line after them, also those of a 1xx and
  /// trailers. False if the transfer should end here.
  bool header(std::string_view line) noexcept;
  /// The next bytes of the body. False if the transfer should end here.
  bool body(std::string_view bytes) noexcept;

  /// True if the answer is complete although the transfer was ended. Rethrows errors of a handler.
  bool refused() const;
  bool has_head() const { return head_done_; }
  const HttpResponse& response() const { return response_; }

 private:
  bool take_header(std::string_view line);
  bool take_head();

  const HttpRequest& request_;
  const HeadHandler& on_head_;
  const HeaderLimits& limits_;
  HttpResponse response_;
  BodyWriter writer_;
  std::exception_ptr failure_;
  std::size_t header_bytes_ = 0;
  bool head_done_ = false;
  bool refused_ = false;
};

struct HttpOptions {
  system::Seconds connect_timeout{10};
  StallLimit stall;
  std::string ca_file;    ///< PEM; empty: the system's
  std::string ca_name;    ///< the variable that names `ca_file`
  std::string ca_folder;  ///< hashed, as c_rehash makes it; empty: the system's
  HeaderLimits header_limits;
  std::string netrc_file;  ///< logins by host; may be missing; empty: none
};

/// Options from the environment: certificates with AWS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE (the first that is set)
/// and SSL_CERT_DIR; logins in the file of NETRC, else ~/.netrc. (Proxies with http_proxy, https_proxy, all_proxy,
/// no_proxy need no option.)
HttpOptions http_options(const system::EnvironmentLookup& environment);

/// Connections with libcurl for any number of threads: HTTP/1.1, kept alive between requests, TLS always verified. Each
/// request in flight has its own, and idle ones are reused, the most recent first. Thread-safe. The program ignores
/// SIGPIPE, like run_app(): with TLS, writing to a closed connection would end it.
class HttpPool final : public Http {
 public:
  explicit HttpPool(HttpOptions options);
  ~HttpPool() override;

  HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) override;

 private:
  class Connection;
  std::unique_ptr<Connection> borrow();

  HttpOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace shardkit::net
