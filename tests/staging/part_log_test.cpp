#include <string>

#include <doctest/doctest.h>

#include "formats/tsv.hpp"
#include "staging/file_copy.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::io;
using namespace shardkit::staging;

namespace {

StageFile file_of(const std::string& name, std::uint64_t bytes, const std::string& version) {
  return {{name, bytes, version}, {}, {}};
}

const StageFile kShard = file_of("train/shard\t000.tar", 100, "\"etag\"");

RangeSet set_of(std::initializer_list<ByteRange> ranges) {
  RangeSet set;
  for (const ByteRange& range : ranges) set.add(range);
  return set;
}

}  // namespace

TEST_CASE("a log tells what was durable last, and of which bytes") {
  const TempDir dir;
  const auto files = posix_file_system();
  PartLog log(*files, dir.path("x.parts"));
  CHECK(log.read(kShard).ranges().empty());
  log.record(kShard, set_of({{0, 10}}));
  log.record(kShard, set_of({{0, 20}, {30, 40}}));
  CHECK(PartLog(*files, dir.path("x.parts")).read(kShard).ranges() == set_of({{0, 20}, {30, 40}}).ranges());
  SUBCASE("of another version nothing") {
    CHECK(log.read(file_of(kShard.object.name, 100, "\"other\"")).ranges().empty());
    CHECK(log.read(file_of(kShard.object.name, 101, kShard.pin())).ranges().empty());
    CHECK(log.read(file_of("other", 100, kShard.pin())).ranges().empty());
  }
  SUBCASE("a later run takes the old one's place at once") {
    PartLog next(*files, dir.path("x.parts"));
    next.record(kShard, set_of({{0, 50}}));
    CHECK(PartLog(*files, dir.path("x.parts")).read(kShard).ranges() == set_of({{0, 50}}).ranges());
  }
  SUBCASE("removed") {
    log.remove();
    CHECK(log.read(kShard).ranges().empty());
  }
}

TEST_CASE("a line that a power cut left half is as if it had not been written") {
  const TempDir dir;
  const auto files = posix_file_system();
  PartLog log(*files, dir.path("x.parts"));
  log.record(kShard, set_of({{0, 10}}));
  const std::size_t first = read_file(dir.path("x.parts")).size();
  log.record(kShard, set_of({{0, 87}}));
  const std::string text = read_file(dir.path("x.parts"));
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto record = read_part_log(text.substr(0, cut));
    const std::uint64_t expected = cut < first ? 0 : 10;
    CHECK((record ? record->durable.total() : 0) == expected);
  }
  CHECK(read_part_log(text)->durable.total() == 87);
}

TEST_CASE("what is no log is none, and ranges beyond the file do not count") {
  CHECK_FALSE(read_part_log(""));
  CHECK_FALSE(read_part_log("shardkit-parts 1\t10\tpin\tname\n"));
  CHECK_FALSE(read_part_log("something else\n"));
  const auto line = [](std::string text) {
    formats::seal_line(text);
    return text;
  };
  const std::string head = line("shardkit-parts 1\t10\tpin\tname");
  CHECK(read_part_log(head)->durable.total() == 0);
  for (const char* bad : {"0-11", "5-4", "x", "0-"}) CHECK(read_part_log(head + line(bad))->durable.total() == 0);
  CHECK(read_part_log(head + "0-5\n")->durable.total() == 0);
  CHECK(read_part_log(head + line("0-3") + line("0-99"))->durable.total() == 3);
}

TEST_CASE("a changed byte never makes more of a file durable than it was") {
  const TempDir dir;
  const auto files = posix_file_system();
  PartLog log(*files, dir.path("x.parts"));
  log.record(kShard, set_of({{0, 10}}));
  log.record(kShard, set_of({{0, 12}, {50, 60}}));
  const std::string text = read_file(dir.path("x.parts"));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto record = read_part_log(changed);
    if (!record || !record->is_of(kShard)) continue;
    for (const ByteRange& range : record->durable.ranges()) CHECK((range.end <= 12 || range.begin == 50));
  }
}
