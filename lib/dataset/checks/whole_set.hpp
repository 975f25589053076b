#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/shard_set.hpp"

namespace shardkit::dataset {

/// What stage brought of a set, such as the shards of one node's ranks.
struct StagedPart {
  std::vector<std::string> parts;  ///< in words
  std::set<std::string> files;     ///< names of all that should be there
};
/// Empty where the folder should have its whole set, also where its manifest is another one by now.
std::optional<StagedPart> find_staged_part(catalog::Inputs& inputs, const std::string& folder);

/// Names of the shards that a folder's manifest lists and that should be, but are not, among `there`.
std::vector<std::string> missing_shards(const formats::Manifest& manifest, const std::optional<StagedPart>& part,
                                        const std::set<std::string_view>& there);

/// Paths of the plans in a folder that are there, in the order in which they were followed.
std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder);

/// Says that a convert --append into the folder has not ended; empty where none is under way.
std::optional<std::string> unfinished_append(catalog::Inputs& inputs, const std::string& folder,
                                             const formats::Manifest& manifest);

/// What folders that were named lack of the sets they should hold: shards that a manifest lists, or the rest of a
/// convert or reshard that has not ended. Empty where nothing is missing, and for shards that were named one by one.
std::optional<std::string> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

/// Throws Error{not_found} where something is.
void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

}  // namespace shardkit::dataset
