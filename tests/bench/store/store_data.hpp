#pragma once

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/read/read_data.hpp"
#include "bench/read/store_read.hpp"
#include "net/store_opener.hpp"
#include "support/fault_server.hpp"

namespace shardkit::test {

/// A web server with the same bytes at every path, but where a fault answers in their place.
class FaultyStore {
 public:
  /// True when it has answered, or done whatever else it does. `number` counts the requests from 0.
  using Fault = std::function<bool(const shardkit_test::ServedRequest&, shardkit_test::ServerConnection&, int number)>;

  explicit FaultyStore(std::uint64_t bytes, Fault fault = {}) : content_(bytes, 'x'), fault_(std::move(fault)) {}

  std::string url(std::string_view target = "") const { return server_.url(target); }
  std::size_t requests() const { return server_.requests().size(); }

  /// All the bytes, whatever part was asked for.
  void give_whole(shardkit_test::ServerConnection& connection) const {
    connection.answer_head(200, "ETag: \"v1\"\r\n", content_.size());
    connection.send(content_);
  }

 private:
  void handle(const shardkit_test::ServedRequest& request, shardkit_test::ServerConnection& connection) {
    if (fault_ && fault_(request, connection, number_++)) return;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (std::sscanf(request.header("range").c_str(), "bytes=%lu-%lu", &first, &last) != 2)
      return give_whole(connection);
    connection.answer(206,
                      fmt::format("ETag: \"v1\"\r\nContent-Range: bytes {}-{}/{}\r\n", first, last, content_.size()),
                      content_.substr(first, last - first + 1));
  }

  const std::string content_;
  Fault fault_;
  std::atomic<int> number_ = 0;
  shardkit_test::FaultServer server_{[this](const auto& request, auto& connection) { handle(request, connection); }};
};

/// Reads with two connections at most, in a second.
inline bench::ReadOptions store_options(const std::string& path) {
  bench::ReadOptions options;
  options.paths = {path};
  options.threads = 2;
  options.budget = 1;
  options.block = 64U << 10U;
  return options;
}

inline std::vector<bench::StoreObject> of_source(const std::shared_ptr<io::ObjectSource>& source,
                                                 const std::vector<io::ObjectInfo>& objects) {
  std::vector<bench::StoreObject> all;
  for (const io::ObjectInfo& object : objects) all.push_back({source, object});
  return all;
}

/// Measures `objects` below the server, by a client that hardly waits before it repeats.
inline bench::ReadResult read_impatiently(const FaultyStore& server, const std::vector<io::ObjectInfo>& objects,
                                          Context& context) {
  bench::RetryCount retries;
  net::StoreOptions store;
  store.retry.random = [] { return 0.001; };
  store.retry.on_retry = [&retries](const net::RetryEvent& event) { retries.note(event); };
  const std::shared_ptr<io::ObjectSource> source = net::StoreOpener(store).open(server.url(), context.stop_token());
  return bench::read_objects(of_source(source, objects), server.url(), retries, store_options(server.url()), context);
}

}  // namespace shardkit::test
