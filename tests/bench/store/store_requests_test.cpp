#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/store/store_data.hpp"
#include "sync/task_group.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using namespace shardkit::sync;
using namespace shardkit::test;

TEST_CASE("requests take the objects in turn, each time a whole block of it or its tail") {
  StoreRequests requests(of_source(nullptr, {{"a", 25, "1"}, {"empty", 0, "1"}, {"b", 10, "1"}, {"c", 3, "1"}}), 10, 7);
  CHECK(requests.objects() == 3);
  std::map<std::string, int> times;
  std::map<std::string, std::set<std::uint64_t>> offsets;
  for (int i = 0; i < 300; ++i) {
    const StoreRequest request = requests.next();
    const ObjectInfo& object = requests.object(request).info;
    ++times[object.name];
    offsets[object.name].insert(request.offset);
    CHECK(request.length == std::min<std::uint64_t>(10, object.size - request.offset));
    CHECK_FALSE(request.whole);
  }
  CHECK(times == std::map<std::string, int>{{"a", 100}, {"b", 100}, {"c", 100}});
  CHECK(offsets["a"] == std::set<std::uint64_t>{0, 10, 20});
  CHECK(offsets["b"] == std::set<std::uint64_t>{0});
}

TEST_CASE("a seed gives the same requests again, another one others") {
  const auto offsets = [](std::uint64_t seed) {
    StoreRequests requests(of_source(nullptr, {{"a", 1'000'000, ""}}), 1, seed);
    std::vector<std::uint64_t> found;
    for (int i = 0; i < 5; ++i) found.push_back(requests.next().offset);
    return found;
  };
  CHECK(offsets(1) == offsets(1));
  CHECK(offsets(1) != offsets(2));
}

TEST_CASE("an object without ranges is asked for whole from then on, a changed one no more") {
  StoreRequests requests(of_source(nullptr, {{"a", 25, "1"}, {"b", 25, "1"}}), 10, 0);
  const StoreRequest first = requests.next();
  const StoreRequest second = requests.next();
  requests.note_no_ranges(first);
  requests.note_changed(second);
  for (int i = 0; i < 4; ++i) {
    const StoreRequest request = requests.next();
    CHECK(request.object == first.object);
    CHECK(request.whole);
    CHECK(request.offset == 0);
    CHECK(request.length == 25);
  }
  CHECK(requests.without_ranges() == 1);
  CHECK(requests.changed() == 1);
  requests.note_changed(first);
  CHECK(error_code_of([&] { requests.next(); }) == ErrorCode::not_found);
}

TEST_CASE("as long as one object is left, each of several threads finds it") {
  StoreRequests requests(of_source(nullptr, {{"a", 1, ""}, {"b", 1, ""}, {"c", 1, ""}}), 10, 0);
  const StoreRequest kept = requests.next();
  requests.note_changed(requests.next());
  requests.note_changed(requests.next());
  TaskGroup threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.spawn([&](const std::stop_token&) {
      for (int i = 0; i < 10'000; ++i) {
        if (requests.next().object != kept.object) throw std::logic_error("one that has gone");
      }
    });
  }
  CHECK_NOTHROW(threads.wait());
}
