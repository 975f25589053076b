#pragma once

#include <memory>
#include <vector>

#include "gpu/device.hpp"

namespace shardkit {

/// Every GPU that this process may use, in CUDA's order; never none. Throws Error{unsupported} whose one line says what
/// is missing: CUDA in this build, a driver, one that is new enough, a device. Work on a GPU begins with its first use.
std::vector<std::unique_ptr<Device>> open_devices();

}  // namespace shardkit
