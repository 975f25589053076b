#include "formats/energon_index.hpp"

#include <doctest/doctest.h>

#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::formats;

TEST_CASE("an offset is eight bytes, the lowest first") {
  StringSink sink;
  write_energon_offset(sink, 0x0102030405060708);
  CHECK(sink.text() == "\x08\x07\x06\x05\x04\x03\x02\x01");
  CHECK(energon_index_name("s-0.tar") == "s-0.tar.idx");
}

TEST_CASE("the info names every shard with its count, in order") {
  CHECK(write_energon_info({{"s-0.tar", 12}, {"\xc3\xa4.tar", 3}}) ==
        "{\n  \"energon_version\": \"7.4.1\",\n  \"shard_counts\": {\n    \"s-0.tar\": 12,\n    \"\\u00e4.tar\": 3\n  "
        "}\n}");
}

TEST_CASE("the split puts all shards into train, in ranges, quoted where YAML asks for it") {
  CHECK(write_energon_split({"s-0.tar", "s-1.tar", "t.tar"}) ==
        "split_parts:\n  train:\n  - s-{0..1}.tar\n  - t.tar\n  val: []\n  test: []\nexclude: []\n");
  CHECK(write_energon_split({"000.tar", "001.tar", "a 'b'.tar", "- c.tar", "\xc3\xa4.tar"}) ==
        "split_parts:\n  train:\n  - '{000..001}.tar'\n  - 'a ''b''.tar'\n  - '- c.tar'\n  - \"\\u00e4.tar\"\n"
        "  val: []\n  test: []\nexclude: []\n");
}

TEST_CASE("the dataset maps image and label, images by any of their extensions") {
  CHECK(write_energon_dataset({"png", "jpg"}) ==
        "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\n"
        "field_map:\n  image: jpg,png\n  label: cls\n");
}
