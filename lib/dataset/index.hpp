#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit {

struct IndexOptions {
  std::vector<std::string> shards;
  std::optional<std::uint64_t> threads;

  void describe(FieldVisitor& v);
};

struct IndexResult {
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  double bytes_per_second = 0;
  std::string manifest;

  void describe(FieldVisitor& v);
};

/// Writes manifest.json and .shardkit/<shard>.index for shards that others made: `shardctl index`. The shards must lie
/// in one folder. Indexes come first, the manifest last, each published atomically; running again replaces them.
/// Throws Error{conflict} where a convert wrote the manifest or an index, because those know more (original paths,
/// class names); Error{corrupt} for a shard that readers would not read whole; Error{usage} for shards in several
/// folders. The output does not depend on threads.
IndexResult index(const IndexOptions& options, Context& ctx);

}  // namespace shardkit
