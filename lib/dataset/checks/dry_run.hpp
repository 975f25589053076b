#pragma once

#include <cstdint>

#include "core/fields.hpp"

namespace shardkit::dataset {

/// What a command would write: the result of --dry-run, which writes nothing, not even the target's folder.
struct DryRun {
  std::uint64_t files = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;  ///< where the target lies, or will

  void describe(FieldVisitor& v) {
    v.field({"files", Unit::count, "files that would be written"}, files);
    v.field({"shards", Unit::count, "of these: shards"}, shards);
    v.field({"bytes", Unit::bytes, "of these files"}, bytes);
    v.field({"free", Unit::bytes, "room on the file system of the target"}, free_bytes);
  }
};

/// What all of them call it.
inline constexpr Field kDryRunOption{"dry-run",
                                     "only say what would be written and whether it fits; nothing is written"};
inline constexpr Field kDryRunResult{"dry_run", "with --dry-run: what would be written; else null"};

}  // namespace shardkit::dataset
