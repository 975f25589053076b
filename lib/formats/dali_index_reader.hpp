#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit {

/// One member as DALI's index names it.
struct DaliMember {
  std::string extension;     ///< as spelled in the shard
  std::uint64_t offset = 0;  ///< of its content
  std::uint64_t size = 0;
};

/// Reads an index of DALI's (formats/dali_index.hpp), versions 1.1 and 1.2, and hands each sample's members to
/// `sample`, in the order of the lines. Throws Error{corrupt} with the line's offset for anything else, more or fewer
/// samples than its head says included; `name` is for messages.
void read_dali_index(ByteSource& source, std::string_view name,
                     const std::function<void(const std::vector<DaliMember>&)>& sample);

}  // namespace shardkit
