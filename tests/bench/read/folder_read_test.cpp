#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/input/input_files.hpp"
#include "bench/read/read_data.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

ReadOptions folder_options(const std::string& path) {
  ReadOptions options = read_options(path);
  options.mode = ReadMode::imagefolder;
  return options;
}

/// Two classes of 20 and 3 files, of 1000 bytes each, and what is no data.
void write_tree(const TempDir& dir) {
  for (int i = 0; i < 20; ++i) write_file(dir.path("t/cat/" + std::to_string(i) + ".jpg"), std::string(1000, 'c'));
  for (int i = 0; i < 3; ++i) write_file(dir.path("t/dog/in/" + std::to_string(i) + ".jpg"), std::string(1000, 'd'));
  write_file(dir.path("t/.hidden/no.jpg"), "no");
  write_file(dir.path("t/cat/.no"), "no");
}

}  // namespace

TEST_CASE("folders are listed, and each file is opened, looked at, read and closed, each call counted apart") {
  const TempDir dir;
  write_tree(dir);
  const ReadResult result = read_quietly(folder_options(dir.path("t")));
  CHECK(result.bytes == 23000);
  CHECK(result.samples == 23);
  CHECK(result.operations == 23);
  CHECK(result.mean_sample.value() == 1000);
  REQUIRE(result.imagefolder);
  const FolderReport& report = *result.imagefolder;
  CHECK(report.folders == 4);
  CHECK(report.files == 23);
  CHECK(report.metadata_cache == MetadataCache::as_found);
  std::map<std::string, FolderOperation> by_name;
  double shares = 0;
  for (const FolderOperation& operation : report.operations) {
    by_name[operation.name] = operation;
    shares += operation.time_ratio;
    CHECK(operation.per_second > 0);
    CHECK(operation.p50 <= operation.p99);
  }
  CHECK(by_name["list"].count == 4);
  for (const std::string name : {"open", "stat", "read", "close"}) CHECK(by_name[name].count == 23);
  CHECK(shares == doctest::Approx(1));
  CHECK(report.metadata_operations_per_second > 0);
  CHECK(report.epoch_seconds == doctest::Approx(23 / report.files_per_second));
  CHECK(report.epoch_hours == doctest::Approx(report.epoch_seconds / 3600));
}

TEST_CASE("files that are no images by their names are pointed at, once") {
  const TempDir dir;
  write_tree(dir);
  CHECK_FALSE(has_hint(read_quietly(folder_options(dir.path("t"))), "not an image by name"));
  write_file(dir.path("t/dog/shard.tar"), "x");
  const ReadResult result = read_quietly(folder_options(dir.path("t")));
  CHECK(result.samples == 24);
  CHECK(has_hint(result, "of 24 files, 1 is not an image by name"));
}

TEST_CASE("a sample of the files tells what an epoch of all takes") {
  const TempDir dir;
  write_tree(dir);
  ReadOptions options = folder_options(dir.path("t"));
  options.samples = 5;
  const ReadResult result = read_quietly(options);
  CHECK(result.samples == 5);
  CHECK(result.imagefolder->files == 23);
  CHECK(result.imagefolder->epoch_seconds == doctest::Approx(23 * result.read_seconds / 5));
  CHECK(has_hint(result, "5 of 23 files were read"));
}

TEST_CASE("residency of files is asked when they are open, so that it costs no metadata") {
  const TempDir dir;
  write_tree(dir);
  ReadOptions options = folder_options(dir.path("t"));
  options.cache = CacheRequest::warm;
  const ReadResult warm = read_quietly(options);
  CHECK(warm.cache.state == CacheState::warm);
  CHECK(warm.imagefolder->metadata_cache == MetadataCache::warm);
  options.cache = CacheRequest::cold;
  try {
    Context context;
    const ReadResult cold = read(options, context);
    CHECK(cold.cache.residency_before_ratio == 0.0);
    const bool metadata_is_cold = cold.imagefolder->metadata_cache == MetadataCache::cold;
    CHECK(metadata_is_cold != has_warning(context, "metadata_not_cold"));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    MESSAGE("SKIPPED: ", error.what());
  }
}

TEST_CASE("links are followed, but not back into a folder that leads to them") {
  const TempDir dir;
  write_file(dir.path("t/a/1.jpg"), "1");
  write_file(dir.path("other/2.jpg"), "2");
  std::filesystem::create_directory_symlink(dir.path("t"), dir.path("t/a/back"));
  std::filesystem::create_directory_symlink(dir.path("other"), dir.path("t/b"));
  std::filesystem::create_symlink(dir.path("nowhere"), dir.path("t/dangling.jpg"));
  REQUIRE(::mkfifo(dir.path("t/pipe").c_str(), 0600) == 0);
  Context context;
  const FolderListing listing = walk_folders({dir.path("t")}, context);
  CHECK(listing.files == std::vector<std::string>{dir.path("t/a/1.jpg"), dir.path("t/b/2.jpg")});
  CHECK(listing.latency.count() == 3);
}

TEST_CASE("what is no folder of files, or makes no sense for one, is a clear error") {
  const TempDir dir;
  write_tree(dir);
  std::filesystem::create_directory(dir.path("empty"));
  CHECK(code_of(folder_options(dir.path("empty"))) == ErrorCode::not_found);
  CHECK(code_of(folder_options(dir.path("missing"))) == ErrorCode::not_found);
  CHECK(code_of(folder_options(dir.path("t/cat/1.jpg"))) == ErrorCode::usage);
  CHECK(code_of(folder_options("/dev/null")) == ErrorCode::usage);
  const auto broken = [&](auto change) {
    ReadOptions options = folder_options(dir.path("t"));
    change(options);
    return code_of(options) == ErrorCode::usage;
  };
  CHECK(broken([](ReadOptions& o) { o.direct = true; }));
  CHECK(broken([](ReadOptions& o) { o.engine = io::EngineKind::uring; }));
  CHECK(broken([](ReadOptions& o) { o.block = 4096; }));
  CHECK(broken([](ReadOptions& o) { o.min_time = 1; }));
  CHECK(broken([](ReadOptions& o) { o.sample_bytes = 100; }));
}

TEST_CASE("a stopped context ends the listing") {
  const TempDir dir;
  write_tree(dir);
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(error_code_of([&] { read(folder_options(dir.path("t")), context); }) == ErrorCode::cancelled);
}

TEST_CASE("a stop gives the rate of the files until then") {
  constexpr int kFiles = 20'000;
  const TempDir dir;
  write_file(dir.path("t/cat/0.jpg"), "x");
  for (int i = 1; i < kFiles; ++i)
    std::filesystem::create_hard_link(dir.path("t/cat/0.jpg"), dir.path("t/cat/" + std::to_string(i) + ".jpg"));
  std::stop_source stop;
  Context context(stop.get_token());
  const std::jthread stopper([&](const std::stop_token& end) {
    // The total first: it is set after the items of the listing are forgotten.
    while (!end.stop_requested() && (context.progress().items_total == 0 || context.progress().items == 0))
      std::this_thread::yield();
    stop.request_stop();
  });
  ReadOptions options = folder_options(dir.path("t"));
  options.threads = 1;
  const ReadResult result = read(options, context);
  CHECK(result.interrupted);
  CHECK(result.samples.value_or(0) > 0);
  CHECK(result.samples.value_or(0) < kFiles);
  CHECK(result.samples_per_second.value_or(0) > 0);
}
