#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

/// Which of the planned shards convert and reshard write, and what lies beside them: no option here changes a shard.
struct WriteOptions {
  std::string part;
  std::optional<std::uint64_t> parts;
  bool recheck = false;
  std::vector<std::string> index;

  bool in_parts() const { return !part.empty() || parts.has_value(); }
  void describe(FieldVisitor& v);
};

}  // namespace shardkit
