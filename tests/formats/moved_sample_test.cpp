#include <doctest/doctest.h>

#include "formats/shard_index.hpp"
#include "formats/tsv.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const MovedSample kSample{{"a~09b", 17, "c/a\tb.JPEG", {{"cls", 512, 2, {}}, {"jpg", 1536, 100, 0xabcU}}}, 3, "a\tb"};

MovedSample read_back(const std::string& line) {
  std::vector<std::string_view> columns;
  split_columns(line, columns);
  MovedSample sample{{"old", 1, "old", {{"old", 1, 1, 1}}}, 9, "old"};
  REQUIRE(parse_moved_sample(columns, sample));
  return sample;
}

}  // namespace

TEST_CASE("a sample's line reads back as the sample") {
  CHECK(read_back(moved_sample_line(kSample)) == kSample);
  MovedSample plain = kSample;
  plain.source_key = plain.key;
  plain.label.reset();
  plain.path.clear();
  CHECK(read_back(moved_sample_line(plain)) == plain);
}

TEST_CASE("the identity is what is written, not where it came from") {
  MovedSample elsewhere = kSample;
  elsewhere.input = 0;
  elsewhere.source_key = "other";
  elsewhere.members[1].offset = 7;
  elsewhere.members[1].xxh3.reset();
  CHECK(moved_sample_line(elsewhere, false) == moved_sample_line(kSample, false));
  elsewhere.members[1].size = 99;
  CHECK(moved_sample_line(elsewhere, false) != moved_sample_line(kSample, false));
}

TEST_CASE("the size is that of headers, contents and padding") { CHECK(moved_sample_tar_bytes(kSample) == 4 * 512); }

TEST_CASE("lines that are no sample are refused") {
  for (const char* line : {"", "=", "+\t0\t\tk\t-\t\tjpg:0:1:-", "=\tx\t\tk\t-\t\tjpg:0:1:-", "=\t0\t\tk\t-\t",
                           "=\t0\t\tk\tx\t\tjpg:0:1:-", "=\t0\t\tk\t-\t\tjpg:0:1", "=\t0\t\tk\t-\t\tjpg:0:1:zz",
                           "=\t0\t\tk\\x\t-\t\tjpg:0:1:-"}) {
    CAPTURE(line);
    std::vector<std::string_view> columns;
    split_columns(line, columns);
    MovedSample sample;
    CHECK_FALSE(parse_moved_sample(columns, sample));
  }
}
