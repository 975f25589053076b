#pragma once

#include <string>

namespace shardkit {

/// What can be known of NVIDIA GPUs without talking to a driver.
struct GpuPresence {
  unsigned devices = 0;        ///< device nodes /dev/nvidia0, /dev/nvidia1, ... that this process sees
  std::string driver_version;  ///< empty without a loaded driver
};

/// `root`: where /dev and /proc are looked up, for recorded trees in tests.
GpuPresence find_gpus(const std::string& root = "/");

}  // namespace shardkit
