#include "catalog/shard_scan.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/tar_builder.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::catalog;
using namespace shardkit::formats;
using namespace shardkit::test;

namespace {

struct Contents final : TarHandler {
  bool entry(const TarEntry& entry) override {
    names.push_back(entry.name);
    return entry.name.ends_with(".cls");
  }
  void content(Bytes piece) override { text += as_text(piece); }
  void content_end() override { text += ';'; }
  void finding(const TarFinding& finding) override { faults.push_back(finding.fault); }

  std::vector<std::string> names;
  std::string text;
  std::vector<TarFault> faults;
};

std::string many_samples() {
  TarBuilder builder;
  for (int i = 0; i < 700; ++i) builder.sample("k" + std::to_string(i), std::string(3000, 'i'), std::to_string(i));
  return builder.end().bytes();
}

}  // namespace

TEST_CASE("both ways of reading a shard file see the same members and content; one also passes every byte on") {
  TempDir dir;
  const std::string archive = many_samples();  // larger than a read block, so that headers cross its edges
  write_file(dir.path("s.tar"), archive);
  io::FileSource shard(dir.path("s.tar"));
  Context context;
  Contents whole;
  Xxh3Stream hash;
  CHECK(read_shard(
            shard, whole, [&](Bytes bytes) { hash.update(bytes); }, context) == archive.size());
  CHECK(hash.digest() == xxh3_128(as_bytes(archive)));
  CHECK(context.progress().bytes.load() == archive.size());
  Contents headers;
  scan_shard(shard, headers, context);
  CHECK(whole.names.size() == 1400);
  CHECK(whole.names == headers.names);
  CHECK(whole.text == headers.text);
  CHECK(whole.text.starts_with("0;1;2;"));
  CHECK(whole.faults.empty());
}

TEST_CASE("a stopped context ends the reading") {
  TempDir dir;
  write_file(dir.path("s.tar"), many_samples());
  io::FileSource shard(dir.path("s.tar"));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  Contents handler;
  CHECK_THROWS_AS(read_shard(
                      shard, handler, [](Bytes) {}, context),
                  Error);
  CHECK_THROWS_AS(scan_shard(shard, handler, context), Error);
}
