#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/machine/cache_state.hpp"
#include "bench/read/read_data.hpp"
#include "io/file.hpp"
#include "system/limits.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using namespace shardkit::system;
using namespace shardkit::test;

TEST_CASE("a cold read starts from nothing and a warm one from everything") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.cache = CacheRequest::cold;
  try {
    const ReadResult cold = read_quietly(options);
    CHECK(cold.cache.residency_before_ratio == 0.0);
    CHECK((cold.cache.state == CacheState::cold || cold.cache.state == CacheState::client_cold));
    CHECK(cold.cache.residency_after_ratio == 1.0);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    MESSAGE("SKIPPED: ", error.what());
  }
  options.cache = CacheRequest::warm;
  const ReadResult warm = read_quietly(options);
  CHECK(warm.cache.state == CacheState::warm);
  CHECK(warm.cache.requested == CacheRequest::warm);
}

TEST_CASE("caches are prepared no longer than allowed, and the files that are ready are read") {
  const ShardFolder folder;
  write_shards(folder);
  ReadOptions options = read_options(folder.path());
  options.prepare_seconds = 0;
  options.cache = CacheRequest::cold;
  try {
    const ReadResult cold = read_quietly(options);  // one file is always prepared
    CHECK(cold.files == 1);
    CHECK(cold.samples == 30);
    CHECK(has_hint(cold, "1 of 2 files were read"));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    MESSAGE("SKIPPED: ", error.what());
  }
  options.cache = CacheRequest::warm;  // half a file in memory is not warm, so there is always time for one
  const ReadResult warm = read_quietly(options);
  CHECK(warm.files == 1);
  CHECK(warm.cache.state == CacheState::warm);
}

TEST_CASE("once dropping caches between passes has taken its time there is no further pass") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(30, "a"));
  ReadOptions options = read_options(folder.path());
  options.prepare_seconds = 0;
  options.min_time = 3600;
  options.cache = CacheRequest::cold;
  try {
    CHECK(read_quietly(options).passes == 1U);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    MESSAGE("SKIPPED: ", error.what());
  }
}

TEST_CASE("bringing caches into a state says how many files that takes, and a stop ends it") {
  const TempDir dir;
  std::vector<InputFile> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back({dir.path(std::to_string(i)), 1000, false, 1});
    write_file(files.back().path, std::string(1000, 'x'));
  }
  for (const CacheRequest request : {CacheRequest::cold, CacheRequest::warm}) {
    std::stop_source stop;
    stop.request_stop();
    Context context(stop.get_token());
    CHECK(error_code_of([&] { prepare_cache(files, request, {}, context); }) == ErrorCode::cancelled);
    CHECK(context.progress().items_total == 5);
  }
  Context context;
  CHECK(prepare_cache(files, CacheRequest::warm, {}, context) == 5);
  CHECK(context.progress().items == 5);
}

TEST_CASE("data larger than the memory is not read to find out that it cannot be warm") {
  const ShardFolder folder;
  write_zeros(folder, "huge.bin", usable_memory() + 1);
  ReadOptions options = read_options(folder.path("huge.bin"));
  options.cache = CacheRequest::warm;
  CHECK(code_of(options) == ErrorCode::no_space);
}

TEST_CASE("in memory neither cold nor direct can be had, and nothing else is measured instead") {
  const std::string path = "/dev/shm/shardkit-read-" + std::to_string(::getpid()) + ".tar";
  write_file(path, image_shard(3, "m").bytes());
  ReadOptions options = read_options(path);
  CHECK(read_quietly(options).cache.state == CacheState::warm);
  options.cache = CacheRequest::cold;
  CHECK(code_of(options) == ErrorCode::unsupported);
  options.cache = CacheRequest::any;
  options.direct = true;
  CHECK(code_of(options) == ErrorCode::unsupported);
  std::filesystem::remove(path);
}

TEST_CASE("holes are warned of, and refused where the disk is to be measured") {
  const TempDir dir;
  write_file(dir.path("holes.bin"), "x");
  std::filesystem::resize_file(dir.path("holes.bin"), 1 << 20);
  Context context;
  ReadOptions options = read_options(dir.path("holes.bin"));
  CHECK(read(options, context).bytes == 1 << 20);
  CHECK(has_warning(context, "sparse_file"));
  options.cache = CacheRequest::cold;
  CHECK(code_of(options) == ErrorCode::unsupported);
}

TEST_CASE("what was allocated but never written is refused like holes, and counted apart") {
  const TempDir dir;
  const std::string path = dir.path("unwritten.bin");
  write_file(path, std::string(65536, 'x'));
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
  if (::fallocate(file.fd(), 0, 65536, 65536) != 0) {
    MESSAGE("SKIPPED: this file system has no fallocate");
    return;
  }
  const ReadResult result = read_quietly(read_options(path));
  CHECK(result.on_disk->files_asked == 1);
  CHECK(result.on_disk->hole_bytes + result.on_disk->unwritten_bytes == 65536);
  CHECK(result.on_disk->compressed_bytes == 0);
  ReadOptions options = read_options(path);
  options.direct = true;
  CHECK(code_of(options) == ErrorCode::unsupported);
}
