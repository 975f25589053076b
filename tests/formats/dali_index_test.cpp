#include <doctest/doctest.h>

#include "formats/index_kinds.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const std::string kShard = "s-000000.tar";

struct Member {
  std::string extension;
  std::uint64_t offset;
  std::uint64_t size;
  std::string spelling;
};
struct Sample {
  std::string key;
  std::uint64_t offset;
  std::vector<Member> members;
};

IndexSample as_read(const Sample& sample) {
  IndexSample read{sample.key, {}, {}, {}, sample.offset};
  for (const Member& member : sample.members) {
    read.members.push_back({member.extension, member.offset, member.size, {}, {}, sample.key + "." + member.spelling});
  }
  return read;
}

std::string lines(const std::vector<Sample>& samples) {
  StringSink sink;
  const auto writer = dali_index_kind().shard_writer(sink, kShard);
  for (const Sample& sample : samples) writer->add(as_read(sample));
  writer->finish(0);
  return writer->head() + sink.text();
}

bool takes(const std::string& key, const std::string& spelling) {
  StringSink sink;
  const auto failure = shardkit_test::failure_of([&] {
    dali_index_kind().shard_writer(sink, kShard)->add(as_read({key, 0, {{"jpg", 512, 1, spelling}}}));
  });
  if (failure.failed) {
    CHECK(failure == ErrorCode::unsupported);
    CHECK(sink.text().empty());
  }
  return !failure.failed;
}

}  // namespace

TEST_CASE("an index counts its samples, then lists each with its members in a line") {
  CHECK(lines({{"a/0001", 0, {{"cls", 512, 1, "cls"}, {"jpg", 1536, 1000, "JPG"}}},
               {"b/0002", 3072, {{"cls", 3584, 1, "cls"}, {"seg.png", 4608, 10, "seg.png"}}}}) ==
        "v1.2 2\n"
        "cls 512 1 a/0001.cls JPG 1536 1000 a/0001.JPG\n"
        "cls 3584 1 b/0002.cls seg.png 4608 10 b/0002.seg.png\n");
  CHECK(lines({}) == "v1.2 0\n");
}

TEST_CASE("a hidden file is left out and does not part the sample it stands in") {
  CHECK(lines({{"d/a", 0, {{"jpg", 512, 1, "jpg"}}},
               {"d/", 1024, {{"_a.jpg", 1536, 1, "_a.jpg"}}},
               {"d/a", 2048, {{"cls", 2560, 1, "cls"}}}}) == "v1.2 1\njpg 512 1 d/a.jpg cls 2560 1 d/a.cls\n");
}

TEST_CASE("names that DALI would split are refused") {
  CHECK(takes("a", "jpg"));
  CHECK(takes("\xc3\xa4", "jpg"));
  CHECK_FALSE(takes("a b", "jpg"));
  CHECK_FALSE(takes("a\nb", "jpg"));
  CHECK_FALSE(takes("a", "j pg"));
  CHECK_FALSE(takes("a", ""));
}

TEST_CASE("the index is called after the shard's name up to its first dot") {
  CHECK(dali_index_name("s-000000.tar") == "s-000000.idx");
  CHECK(dali_index_name("train.v1-0000.tar") == "train.idx");
  CHECK(dali_index_name(".hidden.tar") == ".hidden.idx");
}
