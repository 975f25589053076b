#pragma once

#include <string>

#include "net/http_client.hpp"

namespace shardkit_test {

inline constexpr std::size_t kLargestBody = 1UL << 20U;

struct Answer {
  shardkit::net::HttpResponse head;
  std::string body;
};

inline Answer get(const std::string& url, const std::stop_token& stop = {}, shardkit::net::HttpRequest request = {},
                  const shardkit::net::HttpOptions& options = {}) {
  shardkit::net::HttpPool client(options);
  request.url = shardkit::net::parse_url(url);
  Answer answer;
  answer.head = client.send(request, shardkit::net::collect_body(answer.body, kLargestBody), stop);
  return answer;
}

}  // namespace shardkit_test
