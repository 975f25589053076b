#include "formats/index_kinds.hpp"

#include <set>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const IndexKind& kind(std::string_view name) {
  for (const IndexKind& kind : index_kinds()) {
    if (kind.name == name) return kind;
  }
  FAIL("there is no such kind");
  return index_kinds().front();
}

}  // namespace

TEST_CASE("our own index comes first, then those of other readers, each under a name of its own") {
  std::set<std::string_view> names;
  for (const IndexKind& kind : index_kinds()) names.insert(kind.name);
  CHECK(names.size() == index_kinds().size());
  CHECK(index_kinds().front().shard_file("s.tar") == ".shardkit/s.tar.index");
  CHECK(reader_index_kinds().size() + 1 == index_kinds().size());
}

TEST_CASE("a kind that has files has what writes them") {
  for (const IndexKind& kind : reader_index_kinds()) {
    CAPTURE(kind.name);
    CHECK((kind.shard_file == nullptr) == (kind.shard_writer == nullptr));
    CHECK(kind.set_files.empty() == (kind.write_set == nullptr));
    CHECK_FALSE((kind.shard_file == nullptr && kind.set_files.empty()));
  }
}

TEST_CASE("verify reads from an index of the set what was written to it") {
  IndexedShard shard;
  shard.name = "s.tar";
  shard.bytes = 1024;
  shard.samples = shard.wids_samples = 7;
  for (const IndexKind& kind : reader_index_kinds()) {
    if (kind.read_set == nullptr) continue;
    CAPTURE(kind.name);
    const SetIndexFile counts = kind.write_set({shard}, "set/").files.front();
    CHECK(counts.name == kind.set_files.front());
    const std::vector<ShardCount> read = kind.read_set(counts.text, counts.name);
    REQUIRE(read.size() == 1);
    CHECK(read.front().shard == "s.tar");
    CHECK(read.front().samples == 7);
    CHECK(read.front().bytes.value_or(1024) == 1024);
  }
}

TEST_CASE("an Energon set whose samples are not all images with a label is left to its user to describe") {
  IndexedShard shard;
  shard.name = "s.tar";
  shard.unclassified = 2;
  const SetIndex index = kind("energon").write_set({shard}, "set/");
  CHECK(index.files.back().unknown.starts_with("2 samples are not an image with a .cls label; write 'set/.nv-meta/"));
  CHECK_THROWS_AS(kind("energon").read_set("{}", ".info.json"), Error);
}
