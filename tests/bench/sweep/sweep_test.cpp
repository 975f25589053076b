#include "bench/sweep/sweep.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bench/bench_data.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

SweepOptions options_for(const ShardFolder& folder) {
  folder.write("a.tar", image_shard(40, "a"));
  SweepOptions options;
  options.paths = {folder.path()};
  options.cache = CacheRequest::any;
  options.batch = 8;
  options.budget = 10;
  return options;
}

}  // namespace

TEST_CASE("a sweep of reading names what to read with, and the command that does") {
  const ShardFolder folder;
  SweepOptions options = options_for(folder);
  options.mode = SweepWhat::read;
  Context context;
  const SweepResult result = sweep(options, context);
  CHECK(result.text.starts_with("reading: "));
  REQUIRE(result.commands.size() == 1);
  CHECK(result.commands.front().starts_with("iobench read " + folder.path() + " --engine "));
  CHECK(*result.settings.bytes_per_second > 0);
  CHECK_FALSE(result.settings.workers);
}

TEST_CASE("a sweep of loading names workers and prefetch, and the DataLoader line") {
  const ShardFolder folder;
  SweepOptions options = options_for(folder);
  options.mode = SweepWhat::load;
  Context context;
  const SweepResult result = sweep(options, context);
  CHECK(result.text.starts_with("loading: "));
  CHECK(result.text.ends_with(fmt::format("prefetch {} is enough beside a training step", *result.settings.prefetch)));
  REQUIRE(result.loader);
  CHECK(result.loader->line.starts_with("loader = DataLoader(dataset.batched(8), batch_size=None, num_workers="));
  CHECK(result.loader->workers <= 1);  // there is one shard
  CHECK(*result.settings.samples_per_second > 0);
  CHECK_FALSE(result.settings.threads);
}

TEST_CASE("data that holds no image that decodes is swept for reading, and a warning says why for that alone") {
  const ShardFolder folder;
  SweepOptions options = options_for(folder);
  folder.write("a.tar", TarBuilder().sample("a", "not a JPEG", "1").sample("b", "nor this", "2").end());
  Context context;
  const SweepResult result = sweep(options, context);
  CHECK(result.settings.threads);
  CHECK_FALSE(result.settings.workers);
  CHECK(result.text.find("loading") == std::string::npos);
  CHECK(has_warning(context, "no_loading"));

  options.mode = SweepWhat::load;
  CHECK(error_code_of([&] { sweep(options, context); }) == ErrorCode::corrupt);
}

TEST_CASE("what cannot be swept is a usage error") {
  const ShardFolder folder;
  SweepOptions options = options_for(folder);
  SUBCASE("too little time") { options.budget = 1; }
  SUBCASE("no samples in a batch") { options.batch = 0; }
  SUBCASE("a step of no time") { options.step_time = 0; }
  SUBCASE("a step without loading") {
    options.mode = SweepWhat::read;
    options.step_time = 0.1;
  }
  Context context;
  CHECK(error_code_of([&] { sweep(options, context); }) == ErrorCode::usage);
}
