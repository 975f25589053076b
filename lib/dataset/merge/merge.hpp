#pragma once

#include <cstdint>
#include <string>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/output_files.hpp"

namespace shardkit::dataset {

struct MergeOptions {
  std::string target;
  bool recheck = false;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct MergeResult {
  std::uint64_t parts = 0;
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;
  std::string manifest;

  void describe(FieldList& v);
};

/// Writes the manifest of a set of which all shards are there, from its plans and their indexes, with the same bytes as
/// a convert in one part: `shardctl merge`. So it joins the parts of a distributed convert, adds a complete append to
/// its set, and replaces a manifest that is lost or damaged; in the folder of several sets, for each. Throws
/// Error{conflict} that names the parts that are missing, Error{not_found} for a missing shard, Error{in_use} if a run
/// with another plan is live. Merging again is harmless.
MergeResult merge(const MergeOptions& options, Context& context);
/// The same for the folder `options.target` in `files`.
MergeResult merge_on(io::OutputFiles& files, const MergeOptions& options, Context& context);

}  // namespace shardkit::dataset
