#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "net/url.hpp"
#include "system/clock.hpp"

namespace shardkit::net {

/// Header fields in the order they came or go; names without regard to case.
class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  void set(const std::string& name, std::string value);
  void remove(std::string_view name);
  /// The first of that name; empty when there is none.
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
  /// Longest time for the whole exchange; 0: no limit but that of a stalled connection.
  system::Seconds time_limit{0};
};

/// Status line and headers of an answer.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers;

  /// Content-Length, when there is one that is a number.
  std::optional<std::uint64_t> content_length() const;
};

/// Content-Range: bytes FIRST-LAST/TOTAL (RFC 9110, 14.4); `total` is empty for "*".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;
};

/// Empty for what is not of that form, the "bytes */TOTAL" of a 416 too.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// "bytes=FIRST-LAST" of `length` > 0 bytes from `offset` on.
std::string range_header(std::uint64_t offset, std::uint64_t length);

/// Called once for each answer, when status and headers are there; says where the body goes. An empty function refuses
/// the body: it is not read, at the price of the connection.
using HeadHandler = std::function<BodyWriter(const HttpResponse&)>;

/// Sends requests. The seam by which whatever speaks HTTP is tested without a network.
class Http {
 public:
  virtual ~Http() = default;

  /// Sends `request` and returns status and headers once the whole body has come, or was refused. Any status is an
  /// answer, redirects too: nothing is followed. The body is as it was sent, never decompressed.
  ///
  /// Throws Error{network} when there is no whole answer: no connection, one that broke or died, a body shorter than
  /// announced; Error{denied} when the server's certificate is not to be trusted; Error{corrupt} for what is no HTTP
  /// and for headers without end; Error{cancelled} within 200 ms of a stop. Errors name the URL without login and
  /// query.
  virtual HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) = 0;
};

/// A HeadHandler that appends every body to `text` and throws Error{corrupt} past `limit` bytes.
HeadHandler collect_body(std::string& text, std::size_t limit);

}  // namespace shardkit::net
