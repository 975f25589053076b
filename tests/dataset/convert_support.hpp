#pragma once

#include <cstdint>
#include <string>

#include "dataset/convert.hpp"

namespace shardkit::test {

/// Converts an image folder into exactly `shards` shards.
inline ConvertResult convert_tree(const std::string& source, const std::string& target, std::uint64_t shards = 4,
                                  bool shuffled = true) {
  ConvertOptions options;
  options.source = source;
  options.target = target;
  options.sharding.shards = shards;
  options.sharding.no_shuffle = !shuffled;
  Context ctx;
  return convert(options, ctx);
}

}  // namespace shardkit::test
