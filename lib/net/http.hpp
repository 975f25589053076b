#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/bytes.hpp"
#include "net/http_message.hpp"

namespace shardkit {

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

}  // namespace shardkit
