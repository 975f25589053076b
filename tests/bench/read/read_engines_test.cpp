#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "bench/read/read_data.hpp"
#include "io/read_engine.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using namespace shardkit::test;

namespace {

std::string random_text(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i * 2654435761U >> 13U);
  return text;
}

/// Calls `test` with options for each engine, where the kernel has it.
void for_each_engine(const std::string& path, const std::function<void(ReadOptions)>& test) {
  for (const EngineKind engine : {EngineKind::pread, EngineKind::mmap, EngineKind::uring}) {
    CAPTURE(enum_name(engine));
    try {
      make_read_engine(engine, {});
    } catch (const Error& error) {
      MESSAGE("SKIPPED: ", error.what());
      continue;
    }
    ReadOptions options = read_options(path);
    options.engine = engine;
    test(options);
  }
}

}  // namespace

TEST_CASE("every engine reads every byte once, sequentially and in random blocks") {
  const TempDir dir;
  constexpr std::uint64_t kBytes = 3 * kMiB + 1234;
  write_file(dir.path("x/a.bin"), random_text(kBytes));
  write_file(dir.path("x/b.bin"), random_text(5000));
  write_file(dir.path("x/c.bin"), random_text(10));
  for_each_engine(dir.path("x"), [&](ReadOptions options) {
    options.block = 64U << 10U;
    const ReadResult result = read_quietly(options);
    CHECK(result.engine == enum_name(*options.engine));
    CHECK(result.bytes == kBytes + 5010);
    CHECK(result.samples == 3);
    CHECK(result.operations == 51);
    CHECK(result.kernel_reads.value() >= 51);
    options.mode = ReadMode::random;
    const ReadResult random = read_quietly(options);
    CHECK(random.bytes == 48 * 64 * 1024);
    CHECK(random.operations == 48);
    CHECK_FALSE(random.samples);  // blocks are no samples
    CHECK(has_hint(random, "the size of 3 files is not a multiple of 64KiB"));
  });
}

TEST_CASE("every engine reads the same samples of shards at random") {
  const ShardFolder folder;
  write_shards(folder);
  std::uint64_t bytes = 0;
  for_each_engine(folder.path(), [&](ReadOptions options) {
    options.mode = ReadMode::random;
    const ReadResult result = read_quietly(options);
    CHECK(result.samples == 42);
    CHECK((bytes == 0 || result.bytes == bytes));
    bytes = result.bytes;
  });
}

TEST_CASE("samples of shards without index are counted at a depth of 1, and said not to be beyond") {
  const ShardFolder folder;
  write_shards(folder);
  for_each_engine(folder.path(), [&](ReadOptions options) {
    const ReadResult result = read_quietly(options);
    if (result.depth == 1U) {
      CHECK(result.samples == 42);
      return;
    }
    CHECK_FALSE(result.samples);
    CHECK_FALSE(result.samples_per_second);
    CHECK(has_hint(result, "not counted"));
    options.samples = 3;
    CHECK(code_of(options) == ErrorCode::usage);
    options.samples.reset();
    options.depth = 1;
    CHECK(read_quietly(options).samples == 42);
  });
}

TEST_CASE("a file of samples of one size is a row of them, whatever its name") {
  const TempDir dir;
  write_file(dir.path("x/tokens.bin"), random_text(10007));
  write_file(dir.path("x/more.bin"), random_text(1000));
  for_each_engine(dir.path("x"), [&](ReadOptions options) {
    options.sample_bytes = 100;
    const ReadResult sequential = read_quietly(options);
    CHECK(sequential.samples == 110);
    CHECK(sequential.bytes == 11007);
    CHECK(sequential.mean_sample.value() == doctest::Approx(100).epsilon(0.01));
    options.mode = ReadMode::random;
    const ReadResult random = read_quietly(options);
    CHECK(random.samples == 110);
    CHECK(random.bytes == 11000);
    CHECK(random.mean_sample.value() == 100);
    CHECK(has_hint(random, "the size of 1 file is"));
    options.samples = 7;
    CHECK(read_quietly(options).samples == 7);
    options.sample_bytes = 20000;
    CHECK(code_of(options) == ErrorCode::not_found);
  });
}

TEST_CASE("shards say themselves where their samples are") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.sample_bytes = 100;
  CHECK(code_of(options) == ErrorCode::usage);
}

TEST_CASE("a minimum of time reads again what may be read again, and not what lies in memory by then") {
  const TempDir dir;
  write_file(dir.path("x/a.bin"), random_text(100000));
  for_each_engine(dir.path("x"), [&](ReadOptions options) {
    options.min_time = 0.2;
    options.cache = CacheRequest::warm;
    for (const ReadMode mode : {ReadMode::sequential, ReadMode::random}) {
      options.mode = mode;
      const ReadResult warm = read_quietly(options);
      CHECK(warm.read_seconds >= 0.2);
      CHECK(warm.bytes > 100000);
      CHECK(warm.passes == 1U);
    }
    options.mode = ReadMode::sequential;
    options.cache = CacheRequest::cold;
    options.min_time = 0.5;  // more than a pass takes on a busy disk
    try {
      const ReadResult cold = read_quietly(options);
      CHECK(cold.read_seconds >= 0.5);
      CHECK(cold.passes.value() > 1);
      CHECK(cold.bytes == *cold.passes * 100000);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      MESSAGE("SKIPPED: ", error.what());
    }
  });
}

TEST_CASE("each repetition is reported, and the result is the one with the median rate") {
  const ShardFolder folder;
  write_shards(folder);
  RepeatedReadOptions options;
  static_cast<ReadOptions&>(options) = read_options(folder.path());
  Context context;
  const auto code = [&] { return error_code_of([&] { read_repeatedly(options, context); }); };
  options.repeat = 3;
  CHECK(code() == ErrorCode::usage);  // the second would come from memory
  options.cache = CacheRequest::warm;
  const RepeatedReadResult result = read_repeatedly(options, context);
  REQUIRE(result.repetitions.size() == 3);
  std::vector<double> rates;
  for (const auto& repetition : result.repetitions) rates.push_back(repetition.result.bytes_per_second);
  std::ranges::sort(rates);
  CHECK(result.bytes_per_second == rates[1]);
  CHECK(result.samples == 42U);
  CHECK(result.repeated.front().metric == "read.bytes_per_second");
  CHECK(result.repeated.front().median == rates[1]);
  CHECK(result.repeated.front().low == rates[0]);
  CHECK(result.repeated.front().high == rates[2]);
  options.repeat = 1;
  CHECK(read_repeatedly(options, context).repetitions.empty());
  for (const std::uint64_t wrong : {0U, 1'000'000U}) {
    options.repeat = wrong;
    CHECK(code() == ErrorCode::usage);
  }
}

TEST_CASE("an empty file is a sample, in every mode") {
  const TempDir dir;
  write_file(dir.path("a.jpg"), std::string(1000, 'a'));
  write_file(dir.path("b.jpg"), "");
  for (const ReadMode mode : {ReadMode::sequential, ReadMode::random, ReadMode::imagefolder}) {
    ReadOptions options = read_options(dir.path());
    options.mode = mode;
    const ReadResult result = read_quietly(options);
    CHECK(result.samples == 2U);
    CHECK(result.mean_sample == 500);
  }
}

TEST_CASE("data that changes between repetitions is warned of") {
  const TempDir dir;
  write_file(dir.path("a.jpg"), std::string(1000, 'a'));
  RepeatedReadOptions options;
  static_cast<ReadOptions&>(options) = read_options(dir.path());
  options.mode = ReadMode::imagefolder;
  options.cache = CacheRequest::warm;
  options.repeat = 1000;  // which take longer than the pause below
  for (const bool changes : {false, true}) {
    Context context;
    const std::jthread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (changes) write_file(dir.path("b.jpg"), "b");
    });
    read_repeatedly(options, context);
    CHECK(std::ranges::count(context.warnings(), "data_changed", &shardkit::Finding::code) == (changes ? 1 : 0));
  }
}

TEST_CASE("the histogram counts every read once") {
  const ShardFolder folder;
  write_shards(folder);
  const ReadResult result = read_quietly(read_options(folder.path()));
  std::uint64_t reads = 0;
  for (const stats::LatencyStep& step : result.latency_histogram) {
    CHECK(step.from < step.to);
    reads += step.count;
  }
  CHECK(reads == result.operations);
}

TEST_CASE("a file that was cut after it was listed is an error for every engine") {
  const TempDir dir;
  write_file(dir.path("a.bin"), random_text(100000));
  for_each_engine(dir.path("a.bin"), [&](const ReadOptions& options) {
    write_file(dir.path("a.bin"), random_text(100000));
    Context context;
    const InputSet input = find_input({dir.path("a.bin")}, context);
    std::filesystem::resize_file(dir.path("a.bin"), 50000);
    CHECK(error_code_of([&] { read(options, input, context); }) == ErrorCode::io);
  });
}

TEST_CASE("reads in flight that need too much memory are refused as lack of space") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.engine = EngineKind::uring;
  options.block = 1U << 30U;
  options.threads = 4096;
  CHECK(code_of(options) == ErrorCode::no_space);
}

TEST_CASE("options that say nothing together are usage errors") {
  const ShardFolder folder;
  write_shards(folder);
  const auto broken = [&](const std::function<void(ReadOptions&)>& change) {
    ReadOptions options = read_options(folder.path());
    change(options);
    return code_of(options) == ErrorCode::usage;
  };
  CHECK(broken([](ReadOptions& o) { o.depth = 0; }));
  CHECK(broken([](ReadOptions& o) { o.depth = 2; }));  // pread
  CHECK(broken([](ReadOptions& o) {
    o.engine = EngineKind::uring;
    o.depth = 1'000'000'000;
  }));
  CHECK(broken([](ReadOptions& o) { o.min_time = 0; }));
  CHECK(broken([](ReadOptions& o) {
    o.min_time = 2;
    o.budget = 1;
  }));
  CHECK(broken([](ReadOptions& o) {
    o.min_time = 2;
    o.samples = 1;
  }));
  CHECK(broken([](ReadOptions& o) { o.sample_bytes = 0; }));
  CHECK(broken([](ReadOptions& o) {
    o.mode = ReadMode::random;
    o.block = 4096;
    o.sample_bytes = 100;
  }));
}
