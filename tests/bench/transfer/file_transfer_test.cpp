#include <doctest/doctest.h>
#include <sys/stat.h>

#include "bench/transfer/transfer.hpp"
#include "core/error.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/fake_direct_storage.hpp"
#include "support/files.hpp"
#include "support/recorded_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

constexpr std::size_t kBlocks = 5;
constexpr std::size_t kBytes = kBlocks * (std::size_t{4} << 20U) + 8192;

/// Bytes that differ from place to place.
std::string content(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + (i >> 12U) * 7);
  return text;
}

struct Bench {
  explicit Bench(const FakeDirectStorage::Settings& settings = {})
      : machine{
            tree, {&device}, {}, [settings](const Device&) { return std::make_unique<FakeDirectStorage>(settings); }} {
    write_file(path, content(kBytes));
  }

  FileTransfer run(const std::string& file) { return transfer_file(file, 3, device, machine, context); }

  TempDir dir;
  std::string path = dir.path("data.bin");
  FakeDevice device;
  RecordedTree tree;
  GpuMachine machine;
  Context context;
};

}  // namespace

TEST_CASE("only a regular file of a page or more is brought to a GPU; a pipe is not waited for") {
  const TempDir dir;
  REQUIRE(::mkfifo(dir.path("pipe").c_str(), 0600) == 0);
  for (const std::string& path : {dir.path("pipe"), dir.path(), std::string("/dev/zero")}) {
    const auto failure = failure_of([&] { check_transfer_file(path); });
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says("is not a regular file"));
  }
  write_file(dir.path("short"), "x");
  CHECK(failure_of([&] { check_transfer_file(dir.path("short")); }).says("smaller than a page (4 KiB)"));
  CHECK(failure_of([&] { check_transfer_file(dir.path("none")); }) == ErrorCode::not_found);
}

TEST_CASE("a file comes to the GPU by pread and by cuFile, on all threads, every byte") {
  Bench bench;
  const FileTransfer result = bench.run(bench.path);
  CHECK(result.bytes == kBytes);
  CHECK(result.threads == 3);
  REQUIRE_FALSE(result.rows.empty());
  CHECK(result.rows[0].way == FileReader::pread);
  CHECK(result.rows[0].bytes_per_second > 0);
  if (!result.rows[0].direct) {
    MESSAGE("SKIPPED: the folder for temporary files refuses O_DIRECT: " << result.missing.value_or(""));
    return;
  }
  REQUIRE(result.rows.size() == 2);
  CHECK(result.rows[1].way == FileReader::cufile);
  CHECK(result.mode == GdsMode::native);
  CHECK(result.registered);
  CHECK_FALSE(result.missing);
  CHECK(bench.device.allocations() == 0);
}

TEST_CASE("the mode is the way that the reads took") {
  const auto mode_of = [](const DirectReads& way, bool counts = true) {
    Bench bench({.way = way, .counts = counts, .registers = false});
    const FileTransfer result = bench.run(bench.path);
    CHECK_FALSE(result.registered);
    return result.missing ? std::nullopt : std::optional(result.mode);
  };
  if (!mode_of({})) {
    MESSAGE("SKIPPED: the folder for temporary files refuses O_DIRECT");
    return;
  }
  CHECK(mode_of({.posix = 9}) == GdsMode::compatibility);
  CHECK(mode_of({.peer_to_peer = 9}) == GdsMode::peer_to_peer);
  CHECK(mode_of({.nvidia_fs = 1, .posix = 9}) == GdsMode::mixed);
  CHECK(mode_of({}) == GdsMode::unknown);
  CHECK(mode_of({.posix = 9}, false) == GdsMode::unknown);
}

TEST_CASE("where cuFile is missing one line says why, and the other way is measured all the same") {
  Bench bench;
  bench.machine.open_storage = [](const Device&) -> std::unique_ptr<DirectStorage> {
    throw Error(ErrorCode::unsupported, "GPUDirect Storage is not available: cannot load libcufile.so.0");
  };
  const FileTransfer result = bench.run(bench.path);
  CHECK(result.rows.size() == 1);
  CHECK(result.rows.front().way == FileReader::pread);
  REQUIRE(result.missing);
  CHECK(result.missing->find("GPUDirect Storage") != std::string::npos);
  CHECK(bench.context.warnings().front().code == "gds_missing");
}

TEST_CASE("only whole pages are brought, and of a file below a page nothing") {
  Bench bench;
  write_file(bench.path, content(4096 * 3 + 17));
  CHECK(bench.run(bench.path).bytes == 4096 * 3);
  write_file(bench.path, content(4095));
  CHECK(failure_of([&] { bench.run(bench.path); }) == ErrorCode::usage);
  CHECK(failure_of([&] { bench.run(bench.dir.path("absent")); }) == ErrorCode::not_found);
}

TEST_CASE("no more than half of the GPU's memory is taken") {
  Bench bench;
  FakeDevice small({.memory = 4U << 20U});
  CHECK(transfer_file(bench.path, 1, small, bench.machine, bench.context).bytes == 2U << 20U);
}

TEST_CASE("bytes that arrive wrong end the command, by either way") {
  Bench bench;
  FakeDevice damaged({.damaged_copy = 7});
  const auto failure = failure_of([&] { transfer_file(bench.path, 1, damaged, bench.machine, bench.context); });
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.says("by pread"));
  CHECK(damaged.allocations() == 0);

  Bench lossy({.loses_bytes = true});
  std::optional<FileTransfer> result;
  const auto lost = failure_of([&] { result = lossy.run(lossy.path); });
  if (result) {
    MESSAGE("SKIPPED: the folder for temporary files refuses O_DIRECT");
    return;
  }
  CHECK(lost == ErrorCode::corrupt);
  CHECK(lost.says("by cufile"));
}

TEST_CASE("a stop ends it") {
  std::stop_source stop;
  stop.request_stop();
  Bench bench;
  Context stopped(stop.get_token());
  CHECK(failure_of([&] { transfer_file(bench.path, 2, bench.device, bench.machine, stopped); }) ==
        ErrorCode::cancelled);
  CHECK(bench.device.allocations() == 0);
}
