#include <cstdlib>

#include <doctest/doctest.h>

#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/direct_storage.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

TEST_CASE("one line says what is missing") {
  CHECK(cuda_absence(35, "CUDA driver version is insufficient for CUDA runtime version", 0, 13000) ==
        "no GPU is available: cudaGetDeviceCount returned 35: there is no NVIDIA driver");
  CHECK(cuda_absence(35, "CUDA driver version is insufficient for CUDA runtime version", 12020, 13000) ==
        "no GPU is available: cudaGetDeviceCount returned 35: the NVIDIA driver is too old: it supports CUDA up to "
        "12.2, this program needs 13.0");
  const std::string none = cuda_absence(100, "no CUDA-capable device is detected", 13000, 13000);
  CHECK(none.find("returned 100: there is a driver, but no GPU that this process may use") != std::string::npos);
  CHECK(cuda_absence(0, "no error", 13000, 13000).find("no GPU that this process may use") != std::string::npos);
  CHECK(cuda_absence(999, "unknown error", 13000, 13000).find("/dev/nvidia*") != std::string::npos);
  CHECK(none.find("MIG mode without instances") != std::string::npos);
  CHECK(cuda_absence(802, "system not yet initialized", 13000, 13000).find("nvidia-fabricmanager") !=
        std::string::npos);
  CHECK(cuda_absence(46, "busy", 13000, 13000).find("nvidia-smi -q -d COMPUTE") != std::string::npos);
  CHECK(cuda_absence(209, "no kernel image is available for execution on the device", 13000, 13000)
            .find("compute capability 7.5 (Turing) or later") != std::string::npos);
  CHECK(cuda_absence(803, "system has unsupported display driver / cuda driver combination", 13000, 13000) ==
        "no GPU is available: cudaGetDeviceCount returned 803: system has unsupported display driver / cuda driver "
        "combination");
}

TEST_CASE("streams of CUDA do not wait for each other on shared connections, unless the user chose their number") {
  if (failure_of([] { open_devices(); }).says("built without CUDA")) return;
  CHECK(std::string(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")) == "32");
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
  failure_of([] { open_devices(); });
  CHECK(std::string(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")) == "8");
}

TEST_CASE("where there is no GPU, opening them is not supported, and one line says why") {
  const auto failure = failure_of([] { open_devices(); });
  if (!failure.failed) {
    MESSAGE("SKIPPED: a GPU is here");
    return;
  }
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("no GPU is available: "));
  CHECK_FALSE(failure.says("\n"));
}

TEST_CASE("where nvJPEG or its driver is missing one line says so") {
  const FakeDevice device;
  const auto failure = failure_of([&] { open_jpeg_decoder(device, 1); });
  if (!failure.failed) {
    MESSAGE("SKIPPED: a GPU is here");
    return;
  }
  CHECK((failure.says("nvJPEG") || failure.says("GPU")));
  CHECK_FALSE(failure.says("\n"));
}

TEST_CASE("where cuFile or its driver is missing one line says so") {
  const FakeDevice device;
  const auto failure = failure_of([&] { open_direct_storage(device, system::live_probe()); });
  if (!failure.failed) {
    MESSAGE("SKIPPED: a GPU is here");
    return;
  }
  CHECK_FALSE(failure.text.empty());
  CHECK_FALSE(failure.says("\n"));
}
