#include "net/http_pool.hpp"

#include <utility>

namespace shardkit {

HttpResponse HttpPool::send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) {
  std::unique_ptr<HttpClient> client = borrow();  // one whose request fails goes with its connection
  HttpResponse response = client->send(request, on_head, stop);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(client));
  return response;
}

std::unique_ptr<HttpClient> HttpPool::borrow() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<HttpClient> client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return std::make_unique<HttpClient>(options_);
}

}  // namespace shardkit
