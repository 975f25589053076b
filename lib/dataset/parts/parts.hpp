#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct PartsOptions {
  std::string target;
  bool missing = false;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

enum class PartState {
  done,         ///< its shards and its manifest exist, or the set is merged
  in_progress,  ///< a live run writes it
  failed,       ///< bad files keep shards of it open
  missing,      ///< not begun, or interrupted
};
constexpr auto enum_names(PartState) {
  return std::to_array<std::string_view>({"done", "in_progress", "failed", "missing"});
}

struct PartRow {
  std::uint64_t part = 0;
  std::uint64_t task = 0;  ///< id of the array task that writes it
  PartState state = PartState::missing;
  std::uint64_t shards = 0;       ///< of all sets
  std::uint64_t shards_done = 0;  ///< of these
  std::string run = {};           ///< the live run; empty without one

  void describe(FieldList& v);
};

struct PartsResult {
  std::uint64_t parts = 0;
  std::uint64_t done = 0;
  std::uint64_t in_progress = 0;
  std::uint64_t failed = 0;
  std::uint64_t missing = 0;
  std::uint64_t shards = 0;
  std::uint64_t shards_done = 0;
  bool merged = false;
  std::string missing_tasks;  ///< "3,7-9": ids of array tasks with a part that is missing or failed
  std::vector<PartRow> rows;

  void describe(FieldList& v);
};

/// The state of each part of a convert or reshard, in the target or its sets: `shardctl parts`. Reads and changes
/// nothing but the end of each shard's index.
PartsResult parts(const PartsOptions& options, Context& context);

}  // namespace shardkit::dataset
