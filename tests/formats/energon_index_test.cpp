#include <doctest/doctest.h>

#include "formats/index_kinds.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

/// The set's files: info, split and dataset.
std::vector<SetIndexFile> files_of(const std::vector<std::string>& shards, std::set<std::string> extensions = {}) {
  std::vector<IndexedShard> indexed;
  for (const std::string& shard : shards) {
    indexed.emplace_back().name = shard;
    indexed.back().samples = 12;
  }
  indexed.front().image_extensions = std::move(extensions);
  return energon_index_kind().write_set(indexed, "").files;
}

}  // namespace

TEST_CASE("an offset is eight bytes, the lowest first") {
  StringSink sink;
  const auto writer = energon_index_kind().shard_writer(sink, "");
  writer->add({.key = "key", .label = {}, .path = {}, .members = {}, .offset = 0x0102030405060708});
  CHECK(sink.text() == "\x08\x07\x06\x05\x04\x03\x02\x01");
  CHECK(energon_index_kind().shard_file("s-0.tar") == "s-0.tar.idx");
}

TEST_CASE("the info names every shard with its count, in order") {
  CHECK(files_of({"s-0.tar", "\xc3\xa4.tar"})[0].text ==
        "{\n  \"energon_version\": \"7.4.1\",\n  \"shard_counts\": {\n    \"s-0.tar\": 12,\n    \"\\u00e4.tar\": 12\n  "
        "}\n}");
}

TEST_CASE("the split puts all shards into train, in ranges, quoted where YAML asks for it") {
  CHECK(files_of({"s-0.tar", "s-1.tar", "t.tar"})[1].text ==
        "split_parts:\n  train:\n  - s-{0..1}.tar\n  - t.tar\n  val: []\n  test: []\nexclude: []\n");
  CHECK(files_of({"000.tar", "001.tar", "a 'b'.tar", "- c.tar", "\xc3\xa4.tar"})[1].text ==
        "split_parts:\n  train:\n  - '{000..001}.tar'\n  - 'a ''b''.tar'\n  - '- c.tar'\n  - \"\\u00e4.tar\"\n"
        "  val: []\n  test: []\nexclude: []\n");
}

TEST_CASE("the dataset maps image and label, images by any of their extensions") {
  CHECK(files_of({"s-0.tar"}, {"png", "jpg"})[2].text ==
        "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\n"
        "field_map:\n  image: jpg,png\n  label: cls\n");
}
