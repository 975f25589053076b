#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "net/url.hpp"
#include "system/clock.hpp"

namespace shardkit::net {

/// Header fields in order; names without regard to case.
class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  void set(const std::string& name, std::string value);
  void remove(std::string_view name);
  /// The first with that name; empty if there is none.
  std::optional<std::string_view> find(std::string_view name) const;
  /// The same, or an empty text.
  std::string_view get(std::string_view name) const { return find(name).value_or(std::string_view()); }

  const std::vector<Field>& fields() const { return fields_; }
  std::size_t size() const { return fields_.size(); }
  void clear() { fields_.clear(); }

 private:
  std::vector<Field> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  std::string body;
  /// False for addresses that only this machine or its host answers: metadata services.
  bool may_use_proxy = true;
  /// Maximum time for the whole exchange; 0: no limit except for a stalled connection.
  system::Seconds time_limit{0};
  /// Without a login in the URL or an Authorization header, send the one in the netrc file for this host.
  bool may_use_netrc = false;
  /// Whether a connection that is much slower than others may be given up (SlowLimit).
  bool may_be_given_up = false;
  /// Whether the answer may take minutes, while which nothing comes: the limit of a stalled connection does not apply.
  bool may_take_long = false;
  /// Never repeated below this interface: libcurl does that if a connection ends that was used before.
  bool must_be_sent_once = false;
  /// Another body instead, which is not copied and outlives the request. Its sender adds a checksum: a signature does
  /// not cover it.
  Bytes payload = {};
};

/// Status line and headers of an answer.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers;

  /// Content-Length, if it is a valid number.
  std::optional<std::uint64_t> content_length() const;
};

/// Content-Range: bytes FIRST-LAST/TOTAL (RFC 9110, 14.4); `total` is empty for "*".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;
};

/// Empty for other forms, including "bytes */TOTAL" of a 416.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// "bytes=FIRST-LAST" of `length` > 0 bytes from `offset` on.
std::string range_header(std::uint64_t offset, std::uint64_t length);

/// Error{network}: the name of the server does not exist.
struct UnknownHost : Error {
  using Error::Error;
};

/// Called once per answer, when status and headers are known; returns the receiver of the body. An empty function
/// refuses the body: it is not read, and the connection is closed.
using HeadHandler = std::function<BodyWriter(const HttpResponse&)>;

/// Maximum size of all headers of an answer.
struct HeaderLimits {
  std::size_t fields = 256;
  std::size_t bytes = 64UL << 10U;
};

/// Builds an answer from its lines and the pieces of its body, and passes both to the receiver. header() and body()
/// never throw, because their caller is a C library: errors of the handlers are rethrown by finish().
class ResponseReader {
 public:
  /// All three outlive the reader.
  ResponseReader(const HttpRequest& request, const HeadHandler& on_head, const HeaderLimits& limits)
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

/// Sends requests. The interface with which all HTTP code is tested without a network.
class Http {
 public:
  virtual ~Http() = default;

  /// Sends `request` and returns status and headers when the whole body was received, or was refused. Any status is an
  /// answer, including redirects: nothing is followed. The body is never decompressed.
  ///
  /// Throws Error{network} without a complete answer: no connection, one that broke or stalled, a body shorter than
  /// announced; UnknownHost; Error{denied} if the server's certificate is not trusted; Error{corrupt} for invalid HTTP
  /// and for endless headers; Error{cancelled} within 200 ms of a stop. Errors contain the URL without login and query.
  virtual HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) = 0;
};

/// A HeadHandler that appends every body to `text` and throws Error{corrupt} past `limit` bytes.
HeadHandler collect_body(std::string& text, std::size_t limit);

}  // namespace shardkit::net
