#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct IndexOptions {
  std::vector<std::string> shards;
  std::vector<std::string> index = {};   ///< names of readers whose indexes are written, too (reader_index_kinds())
  std::vector<std::string> extras = {};  ///< names of other files of the set, relative to its folder
  std::optional<std::uint64_t> threads = {};
  std::string output = {};  ///< a local folder; empty: the shards' own
  bool replace = false;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct IndexResult {
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  double bytes_per_second = 0;
  std::string manifest;
  bool manifest_written = false;

  void describe(FieldList& v);
};

/// Writes manifest.json and .shardkit/<shard>.index for shards from other programs, and the requested indexes of
/// readers: `shardctl index`. The shards must be in one folder. Each shard is read once; indexes are written first, the
/// manifest last, each published atomically, to `output` if given; shards at a URL need it. Running again replaces
/// them. If a manifest already fits the shards and indexes of readers or extras are requested, only those are added,
/// from our own index or from headers alone. Throws Error{conflict} if there is only a convert's manifest or index to
/// write, because those contain more (original paths, class names); Error{corrupt} for a shard that readers would not
/// read completely; Error{unsupported} for one that such a reader cannot read; Error{usage} for shards in several
/// folders or with names that collide for DALI; Error{in_use} if a convert or reshard writes to the folder. The output
/// does not depend on threads.
IndexResult index(const IndexOptions& options, Context& context);

}  // namespace shardkit::dataset
