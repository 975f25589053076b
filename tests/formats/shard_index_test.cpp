#include "formats/shard_index.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/shard_hash.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::formats;

namespace {

const IndexSample kCat{"cats/a", 3, "cats/a b.JPEG", {{"cls", 512, 1, 7}, {"jpg", 1536, 1000, 0xffffffffffffffffU}}};
const IndexSample kForeign{"x/y", std::nullopt, "", {{"seg.png", 512, 0, 0}}};
const IndexSkip kSkip{"cats/tab\there\nand\\there", "it\tis bad"};

std::string written(ShardSummary* summary = nullptr) {
  StringSink sink;
  ShardIndexWriter writer(sink, "s-000000.tar", "0123456789abcdef0123456789abcdef");
  writer.add(kCat);
  writer.add(kSkip);
  writer.add(kForeign);
  const ShardSummary result = writer.finish(4096, {1, 2});
  if (summary) *summary = result;
  return sink.text();
}

ErrorCode read_failure(const std::string& text) {
  MemorySource source(as_bytes(text));
  try {
    read_shard_index(source, "i", {});
  } catch (const Error& error) {
    CHECK(error.path() == "i");
    return error.code();
  }
  FAIL("was read as if nothing were wrong");
  return ErrorCode::usage;
}

}  // namespace

TEST_CASE("what is written is read back, in order") {
  ShardSummary wrote;
  const std::string text = written(&wrote);
  MemorySource source(as_bytes(text));
  std::vector<IndexSample> samples;
  std::vector<IndexSkip> skips;
  const ShardSummary read = read_shard_index(
      source, "i", {[&](IndexSample&& s) { samples.push_back(s); }, [&](IndexSkip&& s) { skips.push_back(s); }});
  CHECK(read == wrote);
  CHECK(read.samples == 2);
  CHECK(read.skipped == 1);
  CHECK(samples == std::vector{kCat, kForeign});
  CHECK(skips == std::vector{kSkip});
}

TEST_CASE("the summary alone is read from the first and the last line") {
  ShardSummary wrote;
  const std::string text = written(&wrote);
  MemorySource source(as_bytes(text));
  CHECK(read_shard_summary(source, "i") == wrote);
}

TEST_CASE("the file is lines of text that cut and grep can read") {
  const std::string text = written();
  CHECK(
      text.starts_with("shardkit-index\t1\ts-000000.tar\t0123456789abcdef0123456789abcdef\n"
                       "+\tcats/a\t3\tcats/a b.JPEG\tcls:512:1:0000000000000007\tjpg:1536:1000:ffffffffffffffff\n"
                       "!\tcats/tab\\there\\nand\\\\there\tit\\tis bad\n"
                       "+\tx/y\t-\t\tseg.png:512:0:0000000000000000\n"
                       "end\t2\t1\t4096\t00000000000000010000000000000002\t"));
}

TEST_CASE("an index cut anywhere is damaged") {
  const std::string text = written();
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK(read_failure(text.substr(0, length)) == ErrorCode::corrupt);
  }
}

TEST_CASE("a changed byte is damage, wherever it is") {
  const std::string text = written();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CAPTURE(at);
    const ErrorCode code = read_failure(changed);
    CHECK((code == ErrorCode::corrupt || code == ErrorCode::unsupported));
  }
}

TEST_CASE("a changed byte of the first or the last line is damage to the reader of the summary, and no other matters") {
  ShardSummary wrote;
  const std::string text = written(&wrote);
  const std::size_t first = text.find('\n') + 1;
  const std::size_t last = text.rfind("\nend\t") + 1;
  const std::size_t covered = text.size() - 34;  // tab, checksum of all, newline
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 2);
    MemorySource source(as_bytes(changed));
    if (at < first || (at >= last && at < covered)) {
      CHECK_THROWS_AS(read_shard_summary(source, "i"), Error);
    } else if (at < last - 1) {
      CHECK(read_shard_summary(source, "i") == wrote);
    }
  }
}

TEST_CASE("a member that lies beyond the end of its shard is damage, though the checksum fits") {
  for (const IndexMember& member : {IndexMember{"jpg", 512, 3585, 0}, {"jpg", 4097, 0, 0}, {"jpg", 1, ~0ULL, 0}}) {
    StringSink sink;
    ShardIndexWriter writer(sink, "s-000000.tar", "");
    writer.add(IndexSample{"k", 1, "", {member}});
    writer.finish(4096, {1, 2});
    CHECK(read_failure(sink.text()) == ErrorCode::corrupt);
  }
}

TEST_CASE("bytes after the closing line are damage") { CHECK(read_failure(written() + "+\n") == ErrorCode::corrupt); }

TEST_CASE("files whose place the sample's path does not tell have paths") {
  const IndexSample sample{
      "cats/a", 3, "cats/a.JPEG", {{"jpg", 512, 1, 7}, {"mask.png", 1536, 1, 7, "masks/a:1\t.png"}}};
  StringSink sink;
  ShardIndexWriter writer(sink, "s.tar", "");
  writer.add(sample);
  writer.finish(4096, {1, 2});
  MemorySource source(as_bytes(sink.text()));
  std::vector<IndexSample> samples;
  read_shard_index(source, "i", {[&](IndexSample&& s) { samples.push_back(s); }});
  CHECK(samples == std::vector{sample});
}

TEST_CASE("a member's file lies beside the one that starts the sample unless it has a path") {
  CHECK(implied_path("cats/a b.JPEG", "jpg") == "cats/a b.JPEG");
  CHECK(implied_path("cats/a.v2.png", "json") == "cats/a.v2.json");
  CHECK(implied_path("cats/a.png", "seg.png") == "cats/a.seg.png");
}

TEST_CASE("an index of another version is refused by its version") {
  std::string text = written();
  text.replace(text.find("\t1\t"), 3, "\t2\t");
  CHECK(read_failure(text) == ErrorCode::unsupported);
}

TEST_CASE("the summary has the hashes of parts, however many they are") {
  for (const std::size_t parts : {2U, 16U, 100U, 2000U}) {
    CAPTURE(parts);
    const std::vector<Hash128> hashes(parts, Hash128{parts, 7});
    StringSink sink;
    ShardIndexWriter writer(sink, "s.tar", "");
    for (int i = 0; i < 100; ++i) writer.add(kForeign);
    const ShardSummary wrote = writer.finish(parts * kPartBytes - 1, {1, 2}, hashes);
    MemorySource source(as_bytes(sink.text()));
    CHECK(read_shard_summary(source, "i") == wrote);
    CHECK(read_shard_index(source, "i", {}) == wrote);
    CHECK(wrote.parts == hashes);
  }
}
