#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"

namespace shardkit::dataset {

/// What a command would write: the result of --dry-run, which writes nothing, not even the target's folder.
struct DryRun {
  std::uint64_t files = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;

  void describe(FieldVisitor& v);
};

/// What all of them call it.
inline constexpr Field kDryRunOption{"dry-run",
                                     "only say what would be written and whether it fits; nothing is written"};
inline constexpr Field kDryRunResult{"dry_run", "with --dry-run: what would be written; else null"};

/// Fills in the room at `target`, whose folder need not exist. Throws Error{no_space} where it is less than the bytes.
DryRun with_room(DryRun need, const std::string& target);

}  // namespace shardkit::dataset
