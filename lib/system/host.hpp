#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"

namespace shardkit::system {

/// The machine a result was made on.
struct HostInfo {
  std::string hostname;
  std::string os;
  std::string kernel;
  std::uint64_t cpus = 0;
  std::uint64_t memory = 0;

  void describe(FieldVisitor& v) {
    v.field({"hostname", "name of the machine"}, hostname);
    v.field({"os", "distribution and version"}, os);
    v.field({"kernel", "kernel release"}, kernel);
    v.field({"cpus", Unit::count, "threads this process may keep busy", kCondition}, cpus);
    v.field({"memory", Unit::bytes, "memory this process may use", condition_within(0.1)}, memory);
  }
};

/// Asks the operating system. What cannot be found out stays empty or 0; never throws for that.
HostInfo this_host();

}  // namespace shardkit::system
