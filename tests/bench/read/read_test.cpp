#include "bench/read/read.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "bench/read/read_data.hpp"
#include "formats/shard_index.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::formats;
using namespace shardkit::test;

namespace {

std::uint64_t folder_bytes(const ShardFolder& folder) {
  return std::filesystem::file_size(folder.path("a.tar")) + std::filesystem::file_size(folder.path("b.tar"));
}

/// An index beside `shard` that says it holds that many samples.
void write_index(const ShardFolder& folder, const std::string& shard, std::uint64_t bytes, unsigned samples) {
  StringSink sink;
  ShardIndexWriter writer(sink, shard, "");
  for (unsigned i = 0; i < samples; ++i) writer.add(IndexSample{std::to_string(i), {}, "", {{"jpg", 512, 100, 0}}});
  writer.finish(bytes, {});
  folder.write(".shardkit/" + shard + ".index", sink.text());
}

/// The soft limit of open files, while this lives.
class OpenFileLimit {
 public:
  explicit OpenFileLimit(rlim_t files) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{files, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~OpenFileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFileLimit(const OpenFileLimit&) = delete;
  OpenFileLimit& operator=(const OpenFileLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("sequential reading counts every byte and every sample of shards made by others") {
  const ShardFolder folder;
  write_shards(folder);
  for (const std::uint64_t block : {512U, 1000U, 65536U, 1048576U}) {
    ReadOptions options = read_options(folder.path());
    options.block = block;
    const ReadResult result = read_quietly(options);
    CHECK(result.samples == 42);
    CHECK(result.bytes == folder_bytes(folder));
    CHECK(result.files == 2);
    CHECK(result.engine == "pread");
    CHECK(result.latency.max >= result.latency.p50);
    CHECK(result.bytes_per_second > 0);
    CHECK(*result.samples_per_second == doctest::Approx(42 / result.read_seconds));
  }
}

TEST_CASE("random reading reads each sample once, from its first member's content to its last's") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.mode = ReadMode::random;
  const ReadResult result = read_quietly(options);
  CHECK(result.samples == 42);
  CHECK(result.operations == 42);
  CHECK(result.bytes < folder_bytes(folder));
  CHECK(result.bytes > 42 * 512);
  options.samples = 5;
  CHECK(read_quietly(options).samples == 5);
  options.samples = 5000;
  CHECK(read_quietly(options).samples == 42);
}

TEST_CASE("an index that fits its shard gives the count, a stale one is not believed") {
  const ShardFolder folder;
  write_shards(folder);
  write_index(folder, "b.tar", std::filesystem::file_size(folder.path("b.tar")), 1);
  CHECK(read_quietly(read_options(folder.path())).samples == 31);
  write_index(folder, "b.tar", 17, 1);
  CHECK(read_quietly(read_options(folder.path())).samples == 42);
}

TEST_CASE("a limit stops early and counts what was really read, indexed or not") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path("a.tar"));
  options.threads = 1;
  options.block = 4096;
  options.samples = 3;
  const ReadResult result = read_quietly(options);
  CHECK(result.samples >= 3);
  CHECK(result.samples < 30);
  CHECK(result.bytes < std::filesystem::file_size(folder.path("a.tar")));
  options.samples.reset();
  options.budget = 1e-9;
  CHECK(read_quietly(options).bytes == 0);
}

TEST_CASE("large files are read in parts, so that all threads have work, and still count once") {
  const ShardFolder folder;
  write_zeros(folder, "volume.bin", 130 * kMiB);
  ReadOptions options = read_options(folder.path("volume.bin"));
  options.block = kMiB;
  const ReadResult result = read_quietly(options);
  CHECK(result.samples == 1);
  CHECK(result.bytes == 130 * kMiB);
  CHECK(result.operations == 130);
  CHECK(result.mean_sample.value() == 130 * kMiB);
  CHECK_FALSE(has_hint(result, "the data fills only"));
  options.threads = 4;
  CHECK(has_hint(read_quietly(options),
                 "the data fills only 3 of 4 reading threads; use more data (256 MiB, or 4 shards without index)"));
}

TEST_CASE("samples of an indexed shard count by their share of the bytes") {
  const ShardFolder folder;
  write_zeros(folder, "a.tar", 150 * kMiB);
  write_index(folder, "a.tar", 150 * kMiB, 1000);
  ReadOptions options = read_options(folder.path());
  CHECK(read_quietly(options).samples == 1000);
  options.threads = 1;
  options.samples = 10;
  options.block = kMiB;
  const ReadResult some = read_quietly(options);
  CHECK(some.samples == 13);  // 2 MiB of 150
  CHECK(some.bytes == 2 * kMiB);
}

TEST_CASE("a sample larger than 8 MiB is read in pieces and is one operation") {
  const ShardFolder folder;
  write_zeros(folder, "volume.bin", 20 * kMiB + 1);
  ReadOptions options = read_options(folder.path("volume.bin"));
  options.mode = ReadMode::random;
  const ReadResult result = read_quietly(options);
  CHECK(result.samples == 1);
  CHECK(result.operations == 1);
  CHECK(result.bytes == 20 * kMiB + 1);
}

TEST_CASE("where the shards cannot all stay open the result says what its times include") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.mode = ReadMode::random;
  CHECK_FALSE(has_hint(read_quietly(options), "more shards than files that may be open"));
  const OpenFileLimit limit(65);
  const ReadResult result = read_quietly(options);
  CHECK(result.samples == 42);
  CHECK(has_hint(result, "more shards than files that may be open"));
}

TEST_CASE("the mean size of a sample is that of whole ones") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path("a.tar"));
  CHECK(read_quietly(options).mean_sample.value() ==
        doctest::Approx(static_cast<double>(std::filesystem::file_size(folder.path("a.tar"))) / 30));
  options.threads = 1;
  options.block = 512;
  options.samples = 1;  // the second sample's header has to come by to end the first
  const ReadResult one = read_quietly(options);
  CHECK(one.samples == 1);
  CHECK(*one.mean_sample < static_cast<double>(one.bytes));
}

TEST_CASE("plain files are samples; hidden ones and folders' names do not count") {
  const TempDir dir;
  write_file(dir.path("x/1.bin"), "12345");
  write_file(dir.path("x/y/2.bin"), "1234567");
  write_file(dir.path("x/.hidden"), "no");
  write_file(dir.path("x/.git/config"), "no");
  for (const ReadMode mode : {ReadMode::sequential, ReadMode::random}) {
    ReadOptions options = read_options(dir.path("x"));
    options.mode = mode;
    const ReadResult result = read_quietly(options);
    CHECK(result.samples == 2);
    CHECK(result.bytes == 12);
  }
}

TEST_CASE("damaged shards are read all the same, with a warning that names them") {
  const ShardFolder folder;
  const std::string whole = image_shard(4, "k").bytes();
  folder.write("cut.tar", whole.substr(0, whole.size() - 3000));
  folder.write("junk.tar", std::string(5000, 'j'));
  Context context;
  const ReadResult result = read(read_options(folder.path()), context);
  CHECK(result.bytes == whole.size() - 3000 + 5000);
  CHECK(result.samples >= 3);
  CHECK(has_warning(context, "damaged_shard"));
}

TEST_CASE("shards without samples are read, but have none to pick at random") {
  const ShardFolder folder;
  folder.write("none.tar", TarBuilder().file("README", "no extension").end());
  Context context;
  CHECK(read(read_options(folder.path()), context).samples == 0);
  CHECK(has_warning(context, "no_samples"));
  ReadOptions options = read_options(folder.path());
  options.mode = ReadMode::random;
  CHECK(code_of(options) == ErrorCode::not_found);
}

TEST_CASE("what is not there or no file is a clear error") {
  const TempDir dir;
  CHECK(code_of(read_options(dir.path("missing"))) == ErrorCode::not_found);
  CHECK(code_of(read_options(dir.path())) == ErrorCode::not_found);
  write_file(dir.path("empty"), "");
  CHECK(code_of(read_options(dir.path("empty"))) == ErrorCode::not_found);
  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  CHECK(code_of(read_options(dir.path("pipe"))) == ErrorCode::usage);
  CHECK(code_of(read_options("/dev/null")) == ErrorCode::usage);
  CHECK(code_of(read_options("/proc/self/status")) == ErrorCode::not_found);
  CHECK(code_of(ReadOptions{}) == ErrorCode::usage);
}

TEST_CASE("absurd options are usage errors") {
  const ShardFolder folder;
  write_shards(folder);
  const auto broken = [&](auto change) {
    ReadOptions options = read_options(folder.path());
    change(options);
    return code_of(options);
  };
  CHECK(broken([](ReadOptions& o) { o.threads = 0; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) { o.threads = 1ULL << 40U; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) { o.block = 0; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) { o.block = 1ULL << 40U; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) { o.samples = 0; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) { o.budget = 0; }) == ErrorCode::usage);
  CHECK(broken([](ReadOptions& o) {
          o.direct = true;
          o.block = 1000;
        }) == ErrorCode::usage);
}

TEST_CASE("a stopped context ends the reading") {
  const ShardFolder folder;
  write_shards(folder);
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(error_code_of([&] { read(read_options(folder.path()), context); }) == ErrorCode::cancelled);
}
