#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device.hpp"

namespace shardkit {

/// Every GPU that this process may use, in CUDA's order; never none. Throws Error{unsupported} whose one line says what
/// is missing: CUDA in this build, a driver, one that is new enough, a device. Work on a GPU begins with its first use.
std::vector<std::unique_ptr<Device>> open_devices();

/// The same GPUs, lent; they live as long as `devices`.
std::vector<Device*> lent(const std::vector<std::unique_ptr<Device>>& devices);

/// The GPU that --device names by its number. Throws Error{unsupported} when it is not there.
Device& numbered_device(std::span<Device* const> devices, std::uint64_t number);

}  // namespace shardkit
