#include "gpu/devices.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {

std::vector<Device*> lent(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<Device*> all;
  for (const auto& device : devices) all.push_back(device.get());
  return all;
}

Device& numbered_device(std::span<Device* const> devices, std::uint64_t number) {
  if (number < devices.size()) return *devices[number];
  throw Error(ErrorCode::unsupported,
              fmt::format("--device {}: there is no such GPU; this process may use {}, counted from 0", number,
                          format_count(devices.size(), "GPU")));
}

}  // namespace shardkit
