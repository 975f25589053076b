#pragma once

#include <algorithm>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "net/http.hpp"
#include "support/fault_server.hpp"

namespace shardkit_test {

/// A server of one object, at every path, that does ranges and If-Match right; but first the faults that a test asked
/// for, one for each request.
class ObjectServer {
 public:
  using Fault = FaultServer::Handler;

  explicit ObjectServer(std::string content) : content_(std::move(content)) {}

  /// The next requests go like this.
  void next(std::deque<Fault> faults) {
    const std::scoped_lock lock(mutex_);
    faults_ = std::move(faults);
  }
  /// Another object from now on.
  void set_etag(const std::string& etag) {
    const std::scoped_lock lock(mutex_);
    etag_ = etag;
  }

  std::string url(std::string_view target = "") const { return server_.url(target); }
  std::vector<ServedRequest> requests() const { return server_.requests(); }
  const std::string& content() const { return content_; }

  /// Answers as a good server does, with `body_bytes` of the body at most; then it closes.
  Fault cut_after(std::size_t body_bytes) {
    return [this, body_bytes](const ServedRequest& request, ServerConnection& connection) {
      const Reply reply = reply_to(request);
      connection.answer_head(reply.status, reply.headers, reply.body.size());
      connection.send(reply.body.substr(0, body_bytes));
      connection.close();
    };
  }
  static Fault answer(int status, const std::string& headers = "", const std::string& body = "") {
    return [=](const ServedRequest&, ServerConnection& connection) { connection.answer(status, headers, body); };
  }
  static Fault s3_error(int status, const std::string& code, const std::string& headers = "",
                        const std::string& more = "") {
    return answer(status, headers, fmt::format("<Error><Code>{}</Code>{}</Error>", code, more));
  }

 private:
  struct Reply {
    int status;
    std::string headers;
    std::string body;
  };

  Reply reply_to(const ServedRequest& request) const {
    const std::scoped_lock lock(mutex_);
    const std::string headers = fmt::format("ETag: {}\r\n", etag_);
    const std::string match = request.header("if-match");
    if (!match.empty() && match != etag_) return {412, headers, ""};
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (std::sscanf(request.header("range").c_str(), "bytes=%lu-%lu", &first, &last) != 2)
      return {200, headers, content_};
    if (first >= content_.size()) return {416, fmt::format("Content-Range: bytes */{}\r\n", content_.size()), ""};
    last = std::min<std::uint64_t>(last, content_.size() - 1);
    return {206, fmt::format("{}Content-Range: bytes {}-{}/{}\r\n", headers, first, last, content_.size()),
            content_.substr(first, last - first + 1)};
  }

  void handle(const ServedRequest& request, ServerConnection& connection) {
    Fault fault;
    {
      const std::scoped_lock lock(mutex_);
      if (!faults_.empty()) {
        fault = std::move(faults_.front());
        faults_.pop_front();
      }
    }
    if (fault) return fault(request, connection);
    const Reply reply = reply_to(request);
    connection.answer_head(reply.status, reply.headers, reply.body.size());
    if (request.method != "HEAD") connection.send(reply.body);
  }

  const std::string content_;
  mutable std::mutex mutex_;
  std::string etag_ = "\"v1\"";
  std::deque<Fault> faults_;
  FaultServer server_{
      [this](const ServedRequest& request, ServerConnection& connection) { handle(request, connection); }};
};

}  // namespace shardkit_test
