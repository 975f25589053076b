#include <doctest/doctest.h>

#include "catalog/operands.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit_test;

using Texts = std::vector<std::string>;

TEST_CASE("a list names one shard a line, with either line end, blank lines left out") {
  CHECK(listed_shards("a.tar\r\n\n b #.tar\ns3://x/c.tar", "l.txt") == Texts{"a.tar", " b #.tar", "s3://x/c.tar"});
  CHECK(failure_of([] { listed_shards("\n\r\n", "l.txt"); }) == ErrorCode::not_found);
}

TEST_CASE("a wids index names shards by URL") {
  const char* text = R"({"wids_version":1,"shardlist":[{"url":"b.tar","nsamples":1},{"url":"a.tar","nsamples":2}]})";
  CHECK(wids_shards(text, "i.json") == Texts{"b.tar", "a.tar"});
  CHECK(failure_of([] { wids_shards(R"({"shards":[]})", "i.json"); }) == ErrorCode::usage);
  CHECK(failure_of([] { wids_shards("[", "i.json"); }) == ErrorCode::usage);
  CHECK(failure_of([] { wids_shards(R"({"wids_version":1,"shardlist":[]})", "i.json"); }) == ErrorCode::not_found);
  CHECK(failure_of([] { wids_shards(R"({"wids_version":1,"shardlist":[{}]})", "i.json"); }) == ErrorCode::corrupt);
}
