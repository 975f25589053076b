#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catalog/shard_set.hpp"
#include "formats/manifest.hpp"

namespace shardkit::dataset {

/// What manifests say of the convert that made their shards, as far as it explains where these differ from its source.
struct ConvertFacts {
  bool listed = false;         ///< the images are of a list
  bool resized = false;        ///< images are others by intent
  bool noted = false;          ///< .json members hold rows of tables
  bool skipped_bad = false;    ///< files that cannot be read were left out
  bool part_of_split = false;  ///< other images of the source are in sets that are not among these
  /// A class map numbered the classes, so that numbers in a list may be names.
  bool class_map = false;
  std::vector<std::string> sidecars;            ///< the suffixes that convert was told, each once
  std::map<std::string, std::uint64_t> labels;  ///< by class name
};

/// Of all sets together: those of one split belong to one source. Without manifests nothing is known.
ConvertFacts convert_facts(const std::vector<formats::Manifest>& manifests);

/// Reads the manifests of all folders that the shards lie in. Throws what read_manifest() throws.
ConvertFacts convert_facts(const catalog::ShardSet& set);

}  // namespace shardkit::dataset
