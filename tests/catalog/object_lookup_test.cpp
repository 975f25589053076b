#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "catalog/object_set.hpp"
#include "net/store_server.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::io;
using namespace shardkit::net;
using namespace shardkit_test;

TEST_CASE("all names are looked up, and the answers stand in their order") {
  const TempDir dir;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 100; ++i) {
    names.push_back(std::to_string(i));
    if (i % 3 != 0) write_file(dir.path(names.back()), std::string(i, 'x'));
  }
  const auto source = open_object_source(dir.path());
  for (const unsigned concurrency : {1U, 7U, 1000U}) {
    const auto found = find_all(*source, names, {}, concurrency);
    REQUIRE(found.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      REQUIRE(found[i].has_value() == (i % 3 != 0));
      if (found[i]) CHECK(found[i]->size == i);
    }
  }
  CHECK(find_all(*source, {}, {}, 4).empty());
}

TEST_CASE("a store that cannot list is asked for each, on several connections") {
  const StoreServer server{{"a.tar", "1"}, {"b.tar", "22"}};
  const auto source = StoreOpener({}).open(server.url());
  const auto found = find_all(*source, {"b.tar", "c.tar", "a.tar"}, {}, 3);
  CHECK(found[0]->size == 2);
  CHECK_FALSE(found[1]);
  CHECK(found[2]->size == 1);
}

TEST_CASE("the first failure ends the look-up, a stop too") {
  StoreServer server{{"a.tar", "1"}};
  server.refuse("b.tar", 403);
  const auto source = StoreOpener({}).open(server.url());
  CHECK(failure_of([&] { find_all(*source, {"a.tar", "b.tar"}, {}, 2); }) == ErrorCode::denied);
  std::stop_source stop;
  stop.request_stop();
  CHECK(failure_of([&] { find_all(*source, {"a.tar"}, stop.get_token(), 2); }) == ErrorCode::cancelled);
}
