// The libcufile.so.0 for tests refuses what cuFile refuses, so that a caller which does it does not pass its tests.

#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include "gpu/cuda_queue.hpp"
#include "gpu/cufile_library.hpp"
#include "io/file.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

/// An open driver, closed when it goes.
struct OpenDriver {
  OpenDriver() {
    select_cuda_device(0);
    REQUIRE(cufile.driver_open().error == kCufileSuccess);
  }
  ~OpenDriver() { cufile.driver_close(); }
  OpenDriver(const OpenDriver&) = delete;
  OpenDriver& operator=(const OpenDriver&) = delete;

  CufileLibrary cufile;
};

}  // namespace

TEST_CASE("a driver is opened once") {
  const OpenDriver driver;
  CHECK(driver.cufile.driver_open().error == 5026);
}

TEST_CASE("nothing works before the driver is open") {
  const CufileLibrary cufile;
  select_cuda_device(0);
  std::byte memory{};
  CHECK(cufile.buffer_register(&memory, 1, 0).error == 5001);
  CHECK(cufile.stats_start().error == 5001);
  CHECK(cufile.driver_close().error == 5001);
}

TEST_CASE("memory and files are registered once") {
  const OpenDriver driver;
  std::array<std::byte, 4096> memory{};
  CHECK(driver.cufile.buffer_register(memory.data(), memory.size(), 0).error == kCufileSuccess);
  CHECK(driver.cufile.buffer_register(memory.data(), memory.size(), 0).error == 5023);
  CHECK(driver.cufile.buffer_deregister(memory.data()).error == kCufileSuccess);
  CHECK(driver.cufile.buffer_deregister(memory.data()).error == 5024);

  const TempDir dir;
  write_file(dir.path("data"), "data");
  const auto file = io::File::open_read(dir.path("data"));
  CufileFileDescription description{};
  description.type = kCufileDescriptor;
  description.fd = file.fd();
  CufileLibrary::Handle handle = nullptr;
  CufileLibrary::Handle again = nullptr;
  CHECK(driver.cufile.handle_register(&handle, &description).error == kCufileSuccess);
  CHECK(driver.cufile.handle_register(&again, &description).error == 5028);
  driver.cufile.handle_deregister(handle);
}

TEST_CASE("a read stays within the registered memory") {
  const OpenDriver driver;
  const TempDir dir;
  write_file(dir.path("data"), std::string(8192, 'x'));
  const auto file = io::File::open_read(dir.path("data"));
  CufileFileDescription description{};
  description.type = kCufileDescriptor;
  description.fd = file.fd();
  CufileLibrary::Handle handle = nullptr;
  REQUIRE(driver.cufile.handle_register(&handle, &description).error == kCufileSuccess);
  std::array<std::byte, 8192> memory{};
  REQUIRE(driver.cufile.buffer_register(memory.data(), 4096, 0).error == kCufileSuccess);
  CHECK(driver.cufile.read(handle, memory.data(), 4096, 0, 0) == 4096);
  CHECK(driver.cufile.read(handle, memory.data(), 4096, 0, 1) == -5017);
  driver.cufile.buffer_deregister(memory.data());
  driver.cufile.handle_deregister(handle);
}

TEST_CASE("statistics are there once they were started, at a level that has them") {
  const OpenDriver driver;
  CufileStats stats{};
  CHECK(driver.cufile.stats(&stats).error == 5022);
  CHECK(driver.cufile.set_stats_level(4).error == 5022);
  CHECK(driver.cufile.set_stats_level(3).error == kCufileSuccess);
  CHECK(driver.cufile.stats(&stats).error == 5022);
  CHECK(driver.cufile.stats_start().error == kCufileSuccess);
  CHECK(driver.cufile.stats(&stats).error == kCufileSuccess);
  const Environment old("FAKE_CUFILE_VERSION", "1140");
  CHECK(driver.cufile.set_stats_level(3).error == 5022);
}

TEST_CASE("statistics fill all of the structure of their version") {
  for (const auto& [version, start] : {std::pair{"1150", 1024U}, {"1190", 1136U}}) {
    const Environment chosen("FAKE_CUFILE_VERSION", version);
    const OpenDriver driver;
    driver.cufile.set_stats_level(3);
    driver.cufile.stats_start();
    CufileStats stats{};
    REQUIRE(driver.cufile.stats(&stats).error == kCufileSuccess);
    CHECK(stats.bytes[start - 1] == std::byte{0xff});
    CHECK(stats.bytes[start] == std::byte{2});  // GPUs
  }
}
