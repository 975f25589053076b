#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "system/storage.hpp"

namespace shardkit {

/// What a run had to work with.
struct Environment {
  std::uint64_t usable_threads = 0;
  std::optional<double> cpu_limit;
  std::uint64_t throttled_periods = 0;
  std::uint64_t usable_memory = 0;
  std::optional<std::uint64_t> dev_shm;
  std::uint64_t gpus = 0;
  std::string gpu_driver;
  StorageFacts storage;

  void describe(FieldVisitor& v) {
    v.field({"usable_threads", Unit::count, "cores that this process may keep busy"}, usable_threads);
    v.field({"cpu_limit", Unit::none, "cores that the control group allows"}, cpu_limit);
    v.field({"throttled_periods", Unit::count, "periods in which that limit has cut in so far"}, throttled_periods);
    v.field({"usable_memory", Unit::bytes, "memory that this process may use"}, usable_memory);
    v.field({"dev_shm", Unit::bytes, "room left in /dev/shm"}, dev_shm);
    v.field({"gpus", Unit::count, "NVIDIA devices that this process sees"}, gpus);
    v.field({"gpu_driver", Unit::none, "version of the NVIDIA driver"}, gpu_driver);
    v.field({"storage", Unit::none, "what the data lies on"}, storage);
  }
};

/// Looks at this machine and at what `path` lies on; warns of what would spoil a measurement.
Environment look_at_environment(const std::string& path, Context& context);

}  // namespace shardkit
