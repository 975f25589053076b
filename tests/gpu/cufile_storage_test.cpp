// Over a libcufile.so.0 and a CUDA runtime of our own (tests/support/fake_cufile.cpp, fake_cuda.cpp), which have no
// GPU.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/direct_storage.hpp"
#include "io/file.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/files.hpp"
#include "support/recorded_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

constexpr std::size_t kBytes = (std::size_t{5} << 20U) + 4096;

struct Bench {
  Bench() {
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + (i >> 12U));
    write_file(path, content);
  }

  std::unique_ptr<DirectStorage> open() const { return open_direct_storage(device, machine); }
  DeviceSpan span() { return {memory.data(), memory.size()}; }
  bool arrived() const { return std::ranges::equal(memory, std::as_bytes(std::span(content))); }

  TempDir dir;
  std::string path = dir.path("data");
  std::string content = std::string(kBytes, '\0');
  std::vector<std::byte> memory{kBytes};
  FakeDevice device;
  RecordedTree machine;
};

constexpr const char* kStats = "/proc/driver/nvidia-fs/stats";

std::string nvidia_fs_stats(int reads) {
  return "GDS Version: 1.7.0.149\nIO stats: Enabled, peer IO stats: Disabled\nActive Process: 1\nReads\t\t\t\t: n=" +
         std::to_string(reads) + " ok=3 err=0 readMiB=24 io_state_err=0\nReads\t\t\t\t: Bandwidth(MiB/s)=9\n";
}

}  // namespace

TEST_CASE("reads into registered memory name its start and an offset, so that no buffer lies between") {
  Bench bench;
  const auto storage = bench.open();
  const auto source = io::File::open_read(bench.path);
  const auto file = storage->open(source.fd(), bench.path);
  const DirectReads before = *storage->reads();
  REQUIRE(storage->register_memory(bench.span()));
  constexpr std::size_t kHalf = std::size_t{3} << 20U;
  file->read(bench.span().part(kHalf, kBytes - kHalf), kHalf);
  file->read(bench.span().part(0, kHalf), 0);
  CHECK(bench.arrived());
  CHECK(storage->reads()->nvidia_fs - before.nvidia_fs == 6);
  CHECK(storage->reads()->posix == before.posix);

  std::vector<std::byte> other(4096);
  file->read({other.data(), other.size()}, 0);
  CHECK(storage->reads()->posix == before.posix + 1);
}

TEST_CASE("reads are counted with each layout of the statistics that is known, and with no other") {
  for (const auto& [version, is_known] :
       {std::pair{"1140", false}, {"1150", true}, {"1180", true}, {"1190", true}, {"1200", true}, {"1210", false}}) {
    CAPTURE(version);
    const Environment chosen("FAKE_CUFILE_VERSION", version);
    Bench bench;
    const auto storage = bench.open();
    const auto source = io::File::open_read(bench.path);
    const auto file = storage->open(source.fd(), bench.path);
    const auto before = storage->reads();
    CHECK(before.has_value() == is_known);
    file->read(bench.span().part(0, 4096), 0);
    if (before) CHECK(storage->reads()->posix == before->posix + 1);
  }
}

TEST_CASE("before libcufile counted reads, nvidia-fs does: what it did not read went through the host") {
  const Environment old("FAKE_CUFILE_VERSION", "1140");
  Bench bench;
  bench.machine.add(kStats, nvidia_fs_stats(100));
  const auto storage = bench.open();
  const auto source = io::File::open_read(bench.path);
  const auto file = storage->open(source.fd(), bench.path);
  for (int i = 0; i < 3; ++i) file->read(bench.span().part(0, 4096), 0);
  CHECK(storage->reads()->posix == 3);
  CHECK(storage->reads()->nvidia_fs == 0);
  bench.machine.add(kStats, nvidia_fs_stats(102));
  CHECK(storage->reads()->posix == 1);
  CHECK(storage->reads()->nvidia_fs == 2);
  bench.machine.add(kStats, nvidia_fs_stats(190));  // other processes read as well
  CHECK(storage->reads()->posix == 0);
  CHECK(storage->reads()->nvidia_fs == 3);
}

TEST_CASE("if nvidia-fs does not count reads, nobody knows how they were made") {
  const Environment old("FAKE_CUFILE_VERSION", "1140");
  for (const char* text : {"Reads\t\t: err=0 io_state_err=0\n", "IO stats: Disabled\n", ""}) {
    Bench bench;
    bench.machine.add(kStats, text);
    CHECK_FALSE(bench.open()->reads());
  }
}

TEST_CASE("a file that ends too early is named, with the byte") {
  Bench bench;
  const auto storage = bench.open();
  const auto source = io::File::open_read(bench.path);
  const auto file = storage->open(source.fd(), bench.path);
  const auto failure = failure_of([&] { file->read(bench.span().part(0, 8192), kBytes - 4096); });
  CHECK(failure == ErrorCode::io);
  CHECK(failure.says("at byte " + std::to_string(kBytes) + ": the file ends before its reported size"));
}

TEST_CASE("cuFile's errors are numbers; the text says what they mean") {
  const Bench bench;
  for (const auto& [number, text] : {std::pair{"5001", "5001: the kernel module nvidia-fs is not loaded"},
                                     {"5009", "5009: see CUfileOpError"},
                                     {"5011", "CUDA driver error 0"},
                                     {"5044", "5044: see CUfileOpError"}}) {
    const Environment failing("FAKE_CUFILE_OPEN", number);
    const auto failure = failure_of([&] { bench.open(); });
    CHECK(failure == ErrorCode::unsupported);
    CHECK(failure.says("no GPUDirect Storage: cuFileDriverOpen failed: " + std::string(text)));
  }
}
