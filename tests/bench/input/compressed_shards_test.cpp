#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/decode/decode.hpp"
#include "bench/input/image_stream.hpp"
#include "bench/input/jpeg_store.hpp"
#include "bench/input/sample_counter.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/run.hpp"
#include "support/compressed.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using shardkit_test::failure_of;

namespace {

/// The same samples in plain and in compressed shards.
struct Twins {
  explicit Twins(const char* filter = "gzip", const std::string& ending = ".tar.gz") {
    for (const std::string name : {"a", "b"}) {
      const std::string bytes = image_shard(name == "a" ? 30 : 12, name).bytes();
      folder.write("plain/" + name + ".tar", bytes);
      folder.write("packed/" + name + ending, compressed(bytes, filter));
    }
  }
  InputSet plain() { return find_input({folder.path("plain")}, context); }
  InputSet packed() { return find_input({folder.path("packed")}, context); }

  ShardFolder folder;
  Context context;
};

std::uint64_t stored_bytes(const ShardFolder& folder) {
  return folder.read("packed/a.tar.gz").size() + folder.read("packed/b.tar.gz").size();
}

std::vector<std::string> images_of(const InputSet& input) {
  Context context;
  const JpegStore store(input, 1000, 1U << 30U, context);
  std::vector<std::string> images;
  for (std::size_t i = 0; i < store.size(); ++i) images.emplace_back(as_text(store.image(i)));
  return images;
}

ReadOptions read_options(const std::string& path) {
  ReadOptions options;
  options.paths = {path};
  options.threads = 3;
  return options;
}

RunOptions run_options(const std::string& path) {
  RunOptions options;
  options.paths = {path};
  options.budget = 2;
  return options;
}

PipelineOptions pipeline_options(const std::string& path) {
  PipelineOptions options;
  options.paths = {path};
  options.batch = 4;
  options.device = kNoDevice;
  return options;
}

/// What each verb says about `path`.
void for_each_verb(const std::string& path, const std::function<void(const std::function<void(Context&)>&)>& check) {
  check([&](Context& context) { read(read_options(path), context); });
  check([&](Context& context) { pipeline(pipeline_options(path), context); });
  check([&](Context& context) { run(run_options(path), context); });
}

}  // namespace

TEST_CASE("compressed shards have the images of the plain ones, whatever compressed them") {
  for (const auto& [filter, ending] : {std::pair{"gzip", ".tar.gz"}, {"gzip", ".tgz"}, {"zstd", ".tar.zst"}}) {
    CAPTURE(ending);
    Twins twins(filter, ending);
    const auto images = images_of(twins.packed());
    CHECK(images.size() == 42);
    CHECK(images == images_of(twins.plain()));
  }
}

TEST_CASE("a limited number of images comes from all compressed shards") {
  Twins twins;
  const JpegStore store(twins.packed(), 8, 1U << 30U, twins.context);
  REQUIRE(store.size() == 8);
  CHECK(store.sample(0).file != store.sample(7).file);
  CHECK(store.choice().first.front() == twins.folder.path("packed/a.tar.gz"));
}

TEST_CASE("read counts the samples of compressed shards, and the bytes as they are stored") {
  Twins twins;
  for (const std::uint64_t block : {512U, 4096U, 1048576U}) {
    CAPTURE(block);
    ReadOptions options = read_options(twins.folder.path("packed"));
    options.block = block;
    const ReadResult result = read(options, twins.context);
    CHECK(result.samples == 42);
    CHECK(result.bytes == stored_bytes(twins.folder));
    CHECK(*result.mean_sample == doctest::Approx(static_cast<double>(result.bytes) / 42));
    CHECK(result.unpack_cpu_seconds_per_sample > 0.0);
  }
  CHECK_FALSE(read(read_options(twins.folder.path("plain")), twins.context).unpack_cpu_seconds_per_sample);
}

TEST_CASE("with several reads in flight, compressed shards are bytes, and it is said why") {
  Twins twins;
  ReadOptions options = read_options(twins.folder.path("packed"));
  options.engine = io::EngineKind::uring;
  ReadResult result;
  try {
    result = read(options, twins.context);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::unsupported);
    return;  // this kernel does not permit io_uring
  }
  CHECK(result.bytes == stored_bytes(twins.folder));
  CHECK_FALSE(result.samples);
  const auto says_why = [](const std::string& hint) { return hint.find("use --depth 1") != std::string::npos; };
  CHECK(std::ranges::any_of(result.hints, says_why));
}

TEST_CASE("--samples ends the reading of a compressed shard early, with the size of a sample") {
  Twins twins;
  ReadOptions options = read_options(twins.folder.path("packed/a.tar.gz"));
  options.block = 4096;
  options.samples = 5;
  const ReadResult result = read(options, twins.context);
  CHECK(result.samples >= 5U);
  CHECK(result.samples < 30U);
  const double mean = static_cast<double>(twins.folder.read("packed/a.tar.gz").size()) / 30;
  CHECK(*result.mean_sample == doctest::Approx(mean).epsilon(0.3));
}

TEST_CASE("random order and --direct are refused with a remedy; other verbs never read so") {
  Twins twins;
  const auto refused = [&](const ReadOptions& options, const std::string& way) {
    const auto error = failure_of([&] { read(options, twins.context); });
    CHECK(error == ErrorCode::unsupported);
    CHECK(error.says("is compressed, so it is unpacked from start to end and cannot be read " + way));
    CHECK(error.says("`shardctl reshard " + twins.folder.path("packed")));
  };
  ReadOptions options = read_options(twins.folder.path("packed"));
  options.mode = ReadMode::random;
  refused(options, "in random order (--mode sequential reads it)");
  options.mode = ReadMode::sequential;
  options.direct = true;
  refused(options, "with --direct");
}

TEST_CASE("a pipeline unpacks: all samples arrive, and unpacking is a stage between reading and decoding") {
  Twins twins;
  const PipelineResult packed = pipeline(pipeline_options(twins.folder.path("packed")), twins.context);
  const PipelineResult plain = pipeline(pipeline_options(twins.folder.path("plain")), twins.context);
  CHECK(packed.images_tried == 42);
  CHECK(packed.failures.total == 0);
  REQUIRE(packed.stages.size() == plain.stages.size() + 1);
  const StageRow& unpack = packed.stages[1];
  CHECK(unpack.name == "unpack");
  CHECK(unpack.threads == packed.readers);
  CHECK(unpack.cpu_seconds_per_sample > 0);
  for (const StageRow& row : {packed.stages[0], unpack}) {
    CHECK(row.busy_ratio + row.starved_ratio + row.blocked_ratio == doctest::Approx(1));
  }
  CHECK(plain.stages[1].name == "decode");
}

TEST_CASE("run reads compressed shards as they are stored, and unpacks them as a stage of its own") {
  Twins twins;
  const RunResult result = run(run_options(twins.folder.path("packed")), twins.context);
  REQUIRE(result.unpack);
  CHECK(result.unpack->shards == 2);
  CHECK(result.unpack->samples == 42);
  CHECK(result.unpack->cpu_seconds > 0);
  const double mean = static_cast<double>(stored_bytes(twins.folder)) / 42;
  CHECK(*result.read.mean_sample == doctest::Approx(mean).epsilon(0.05));
  CHECK(*result.read.samples_per_second == doctest::Approx(result.read.bytes_per_second / mean).epsilon(0.05));
  std::vector<std::string> stages;
  for (const StageTableRow& row : result.summary.stage_table) stages.push_back(row.stage);
  CHECK(std::ranges::find(stages, "unpack") != stages.end());
  CHECK(result.decode);
  CHECK(result.summary.loader.code.find("{a..b}.tar.gz") == std::string::npos);
  CHECK(result.summary.loader.code.find("a.tar.gz") != std::string::npos);
  CHECK(result.summary.loader.code.find("\"cls\"") != std::string::npos);
  CHECK_FALSE(run(run_options(twins.folder.path("plain")), twins.context).unpack);
}

TEST_CASE("webdataset gets no code for what Python does not unpack") {
  Twins twins("zstd", ".tar.zst");
  const RunResult result = run(run_options(twins.folder.path("packed")), twins.context);
  CHECK(result.summary.loader.why_no_code == "webdataset unpacks only gzip, bzip2 and xz");
}

TEST_CASE("a shard that is cut off or damaged is an error with its path and the place") {
  const ShardFolder folder;
  const std::string packed = compressed(image_shard(300, "a").bytes());
  std::string damaged = packed;
  for (std::size_t i = 10; i < 1000; ++i) damaged[i] = '\xff';  // where the compressed data begins
  for (const auto& [name, bytes] : {std::pair{"cut", packed.substr(0, packed.size() / 2)}, {"damaged", damaged}}) {
    folder.write(std::string(name) + "/a.tar.gz", bytes);
    for_each_verb(folder.path(name), [&](const auto& verb) {
      CAPTURE(name);
      Context context;
      const auto error = failure_of([&] { verb(context); });
      CHECK(error == ErrorCode::corrupt);
      CHECK(error.says("'" + folder.path(name) + "/a.tar.gz' cannot be unpacked past byte "));
    });
  }
}

TEST_CASE("what is no compressed data at all is warned of, as a plain shard that is no tar") {
  const ShardFolder folder;
  folder.write("a.tar.gz", "\x1f\x8b...");
  Context context;
  CHECK(read(read_options(folder.path("a.tar.gz")), context).samples == 0U);
  CHECK(has_warning(context, "damaged_shard"));
}

TEST_CASE("samples without images are counted, and cannot be decoded") {
  const ShardFolder folder;
  folder.write("a.tar.gz", compressed(TarBuilder().file("k1.txt", "one").file("k2.txt", "two").end().bytes()));
  Context context;
  CHECK(read(read_options(folder.path("a.tar.gz")), context).samples == 2);
  CHECK(failure_of([&] { pipeline(pipeline_options(folder.path("a.tar.gz")), context); }) == ErrorCode::not_found);
  const RunResult result = run(run_options(folder.path("a.tar.gz")), context);
  CHECK_FALSE(result.decode);
  CHECK(has_warning(context, "nothing_to_decode"));
}

TEST_CASE("an empty tar that was compressed has no samples") {
  const ShardFolder folder;
  folder.write("a.tar.gz", compressed(TarBuilder().end().bytes()));
  Context context;
  CHECK(read(read_options(folder.path("a.tar.gz")), context).samples == 0U);
  CHECK(has_warning(context, "no_samples"));
  CHECK(failure_of([&] { run(run_options(folder.path("a.tar.gz")), context); }) == ErrorCode::not_found);
}

TEST_CASE("a gzip file of several members in a row is one shard") {
  const ShardFolder folder;
  const std::string bytes = image_shard(20, "a").bytes();
  const std::size_t half = bytes.size() / 2;
  folder.write("a.tar.gz", compressed(bytes.substr(0, half)) + compressed(bytes.substr(half)));
  Context context;
  const ReadResult result = read(read_options(folder.path("a.tar.gz")), context);
  CHECK(result.samples == 20);
  CHECK(result.bytes == folder.read("a.tar.gz").size());
  CHECK(images_of(find_input({folder.path("a.tar.gz")}, context)).size() == 20);
}
