#include <doctest/doctest.h>

#include "dataset/convert/convert.hpp"
#include "dataset/reshard/reshard.hpp"
#include "io/page_cache.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

/// Bytes of the only shard of a set that are in the page cache; empty where that is always all, or unknown.
std::optional<std::uint64_t> cached_in(const std::string& set) {
  const io::File shard = io::File::open_read(set + "/shard-000000.tar");
  return io::lives_in_memory(shard) ? std::nullopt : io::cached_bytes(shard);
}

std::uint64_t size_in(const std::string& set) { return io::File::open_read(set + "/shard-000000.tar").size(); }

}  // namespace

TEST_CASE("shards of convert and reshard are in the page cache only with --keep-cached") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 8, 300'000}.make();
  for (const bool keep : {true, false}) {
    CAPTURE(keep);
    Context context;
    ConvertOptions converting;
    converting.source = dir.path("src");
    converting.target = dir.path(keep ? "set-kept" : "set");
    converting.keep_cached = keep;
    convert(converting, context);
    const auto of_convert = cached_in(converting.target);
    if (!of_convert) {
      MESSAGE("SKIPPED: the temporary folder's file system cannot be cold; set TMPDIR to a disk");
      return;
    }
    ReshardOptions resharding;
    resharding.inputs = {converting.target};
    resharding.target = dir.path(keep ? "out-kept" : "out");
    resharding.shuffle = 1;
    resharding.keep_cached = keep;
    reshard(resharding, context);
    const auto of_reshard = cached_in(resharding.target);
    if (keep) {
      CHECK(of_convert == size_in(converting.target));
      CHECK(of_reshard == size_in(resharding.target));
    } else {
      CHECK(of_convert <= 4096);
      CHECK(of_reshard <= 4096);
    }
  }
}
