#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sync/task_group.hpp"

namespace shardkit_test {

/// A request as it came over the wire.
struct ServedRequest {
  std::string method;
  std::string target;                          ///< path and query
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  int connection = 0;  ///< counts from 1

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  std::string path() const { return target.substr(0, target.find('?')); }
};

/// The server's end of one connection, for a handler to do with it what a broken server or network might.
class ServerConnection {
 public:
  ServerConnection(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)) {}

  /// These very bytes.
  void send(std::string_view raw);
  /// A whole and proper answer; `headers` are lines that end in \r\n.
  void answer(int status, const std::string& headers, std::string_view body);
  /// Status and headers with this Content-Length, and no body.
  void answer_head(int status, const std::string& headers, std::size_t content_length);
  /// Ends the connection in order.
  void close() { closed_ = true; }
  /// Ends it by a reset.
  void reset();
  /// Says nothing more until the client leaves or the test ends.
  void stall();
  bool closed() const { return closed_; }

 private:
  int fd_;
  std::stop_token stop_;
  bool closed_ = false;
};

/// A small HTTP/1.1 server on 127.0.0.1 that answers each request by a function of the test. Threads come and go with
/// it. Handlers run on several threads at once.
class FaultServer {
 public:
  using Handler = std::function<void(const ServedRequest&, ServerConnection&)>;

  explicit FaultServer(Handler handler);
  ~FaultServer();
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:PORT" and `target`.
  std::string url(std::string_view target = "") const;
  /// All that came so far.
  std::vector<ServedRequest> requests() const;
  void forget_requests();

 private:
  void accept_loop(const std::stop_token& stop);
  void serve(int fd, int number, const std::stop_token& stop);

  Handler handler_;
  int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ServedRequest> requests_;
  shardkit::sync::TaskGroup threads_;
};

}  // namespace shardkit_test
