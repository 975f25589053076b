#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "net/http_client.hpp"

namespace shardkit {

/// Connections for any number of threads: each request under way has one of its own, and those that are free are used
/// again, the warmest first. Thread-safe.
class HttpPool final : public Http {
 public:
  explicit HttpPool(HttpOptions options) : options_(std::move(options)) {}

  HttpResponse send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) override;

 private:
  std::unique_ptr<HttpClient> borrow();

  HttpOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> idle_;
};

}  // namespace shardkit
