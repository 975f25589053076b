#include "gpu/cuda_absence.hpp"

#include <fmt/format.h>

namespace shardkit {
namespace {

// Of cudaError in driver_types.h, which a build without CUDA lacks.
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;
constexpr int kUnknown = 999;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string reason(int error, std::string_view error_name, int driver, int runtime) {
  if (error == kInsufficientDriver && driver == 0) return "no NVIDIA driver here";
  if (error == kInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it is for CUDA {} at most, this program for {}",
                       version_text(driver), version_text(runtime));
  }
  if (error == kNoDevice || error == 0) {
    return "a driver is here, but no GPU that this process may use (CUDA_VISIBLE_DEVICES, the container's devices)";
  }
  if (error == kUnknown) {
    return fmt::format("{}: often a driver whose device nodes /dev/nvidia* are missing or closed to this user",
                       error_name);
  }
  return std::string(error_name);
}

}  // namespace

std::string cuda_absence(int error, std::string_view error_name, int driver, int runtime) {
  return fmt::format("no GPU can be used: cudaGetDeviceCount says {}: {}", error,
                     reason(error, error_name, driver, runtime));
}

}  // namespace shardkit
