#include "support/fault_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace shardkit_test {
namespace {

constexpr int kPollMs = 20;

/// True when `fd` has something to read, or has ended; false on a stop.
bool wait_readable(int fd, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, kPollMs) > 0) return true;
  }
  return false;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Reads requests off one connection.
class RequestReader {
 public:
  RequestReader(int fd, const std::stop_token& stop) : fd_(fd), stop_(stop) {}

  std::optional<ServedRequest> next() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_some()) return std::nullopt;
    }
    ServedRequest request = parse(buffer_.substr(0, end + 2));
    buffer_.erase(0, end + 4);
    const std::string length = request.header("content-length");
    const std::size_t body = length.empty() ? 0 : std::stoul(length);
    while (buffer_.size() < body) {
      if (!read_some()) return std::nullopt;
    }
    request.body = buffer_.substr(0, body);
    buffer_.erase(0, body);
    return request;
  }

 private:
  static ServedRequest parse(const std::string& head) {
    ServedRequest request;
    const std::size_t line_end = head.find("\r\n");
    const std::size_t first = head.find(' ');
    const std::size_t second = head.find(' ', first + 1);
    request.method = head.substr(0, first);
    request.target = head.substr(first + 1, second - first - 1);
    for (std::size_t at = line_end + 2; at < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(':', at);
      std::size_t value = colon + 1;
      while (head[value] == ' ') ++value;
      request.headers[lower(head.substr(at, colon - at))] = head.substr(value, end - value);
      at = end + 2;
    }
    return request;
  }

  bool read_some() {
    if (!wait_readable(fd_, stop_)) return false;
    std::array<char, 4096> block{};
    const ssize_t got = recv(fd_, block.data(), block.size(), 0);
    if (got <= 0) return false;
    buffer_.append(block.data(), static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  const std::stop_token& stop_;
  std::string buffer_;
};

}  // namespace

void ServerConnection::send(std::string_view raw) {
  while (!raw.empty() && !closed_) {
    const ssize_t sent = ::send(fd_, raw.data(), raw.size(), MSG_NOSIGNAL);
    if (sent <= 0) return close();
    raw.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void ServerConnection::answer_head(int status, const std::string& headers, std::size_t content_length) {
  send(fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n{}\r\n", status, content_length, headers));
}

void ServerConnection::answer(int status, const std::string& headers, std::string_view body) {
  answer_head(status, headers, body.size());
  send(body);
}

void ServerConnection::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void ServerConnection::stall() {
  wait_readable(fd_, stop_);  // a client that waits sends nothing; readable is its leaving
  close();
}

FaultServer::FaultServer(Handler handler)
    : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "no server socket");
  }
  port_ = ntohs(address.sin_port);
  threads_.spawn([this](const std::stop_token& stop) { accept_loop(stop); });
}

FaultServer::~FaultServer() {
  threads_.request_stop();
  threads_.wait();
  close(listener_);
}

std::string FaultServer::url(std::string_view target) const {
  return fmt::format("http://127.0.0.1:{}{}", port_, target);
}

std::vector<ServedRequest> FaultServer::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void FaultServer::forget_requests() {
  const std::scoped_lock lock(mutex_);
  requests_.clear();
}

void FaultServer::accept_loop(const std::stop_token& stop) {
  for (int number = 1; wait_readable(listener_, stop); ++number) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    threads_.spawn([this, fd, number](const std::stop_token& token) { serve(fd, number, token); });
  }
}

void FaultServer::serve(int fd, int number, const std::stop_token& stop) {
  RequestReader reader(fd, stop);
  ServerConnection connection(fd, stop);
  while (!connection.closed()) {
    auto request = reader.next();
    if (!request) break;
    request->connection = number;
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(*request);
    }
    handler_(*request, connection);
  }
  close(fd);
}

}  // namespace shardkit_test
