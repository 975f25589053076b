#pragma once

#include <cstdint>
#include <optional>

#include "core/fields.hpp"

namespace shardkit::dataset {

/// The result of --dry-run: the files that a command would write. Writes nothing, not even the target's folder.
struct DryRun {
  std::uint64_t files = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> free_bytes = {};  ///< at the target's folder; empty for a bucket

  void describe(FieldList& v) {
    v.field({"files", Unit::count, "number of files to write"}, files);
    v.field({"shards", Unit::count, "number of shards among them"}, shards);
    v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
    v.field({"free", Unit::bytes, "free space on the file system of the target; null for a bucket"}, free_bytes);
  }
};

/// The name that all of them use.
inline constexpr Field kDryRunOption{"dry-run", "write nothing; only report what would be written and whether it fits"};
inline constexpr Field kDryRunResult{"dry_run", "with --dry-run: what would be written; otherwise null"};

}  // namespace shardkit::dataset
