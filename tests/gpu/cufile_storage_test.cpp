// Over a libcufile.so.0 and a CUDA runtime of our own (tests/support/fake_cufile.cpp, fake_cuda.cpp), which have no
// GPU.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/direct_storage.hpp"
#include "io/file.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/files.hpp"
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

  DeviceSpan span() { return {memory.data(), memory.size()}; }
  bool arrived() const { return std::ranges::equal(memory, std::as_bytes(std::span(content))); }

  TempDir dir;
  std::string path = dir.path("data");
  std::string content = std::string(kBytes, '\0');
  std::vector<std::byte> memory{kBytes};
  FakeDevice device;
};

}  // namespace

TEST_CASE("reads into registered memory name its start and an offset, so that no buffer lies between") {
  Bench bench;
  const auto storage = open_direct_storage(bench.device);
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
    ::setenv("FAKE_CUFILE_VERSION", version, 1);
    Bench bench;
    const auto storage = open_direct_storage(bench.device);
    const auto source = io::File::open_read(bench.path);
    const auto file = storage->open(source.fd(), bench.path);
    const auto before = storage->reads();
    CHECK(before.has_value() == is_known);
    file->read(bench.span().part(0, 4096), 0);
    if (before) CHECK(storage->reads()->posix == before->posix + 1);
  }
  ::unsetenv("FAKE_CUFILE_VERSION");
}

TEST_CASE("a file that ends too early is named, with the byte") {
  Bench bench;
  const auto storage = open_direct_storage(bench.device);
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
    ::setenv("FAKE_CUFILE_OPEN", number, 1);
    const auto failure = failure_of([&] { open_direct_storage(bench.device); });
    CHECK(failure == ErrorCode::unsupported);
    CHECK(failure.says("no GPUDirect Storage: cuFileDriverOpen failed: " + std::string(text)));
  }
  ::unsetenv("FAKE_CUFILE_OPEN");
}
