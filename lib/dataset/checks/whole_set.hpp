#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/shard_set.hpp"

namespace shardkit::dataset {

/// The part of a set that stage copied to its folder, or to one above it, such as the shards of one node's ranks.
struct StagedPart {
  std::vector<std::string> parts;  ///< in words
  std::set<std::string> files;     ///< names of all expected files
};
/// Empty if the folder should have its whole set, or if its manifest is now a different one.
std::optional<StagedPart> find_staged_part(catalog::Inputs& inputs, const std::string& folder);

/// Names of the shards that a folder's manifest lists and that are missing from `there`.
std::vector<std::string> missing_shards(const formats::Manifest& manifest, const std::optional<StagedPart>& part,
                                        const std::set<std::string_view>& there);

/// Paths of the existing plans in a folder, in the order in which they were followed.
std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder);

/// A message that the stage that brought the folder's files is not complete; empty if none did, or it is.
std::optional<std::string> unfinished_stage(const std::string& folder);

/// A message that shards of the folder's plans are missing from `there`, the names of its shards, or that its parts are
/// not merged; else empty. For a folder without a manifest.
std::optional<std::string> unfinished_plan(catalog::Inputs& inputs, const std::string& folder,
                                           const std::set<std::string_view>& there);

/// The files that are missing from the sets in named folders: shards that a manifest lists, or the rest of an
/// incomplete convert or reshard. Empty if nothing is missing, and for shards that were named one by one.
std::optional<std::string> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

/// What the manifests of several folders say about labels.
struct LabelComparison {
  std::string text;                    ///< one line: whether they agree, and which folders lack classes
  std::vector<std::string> conflicts;  ///< a label with two names each, or a name with two labels
};
LabelComparison compare_labels(const catalog::FolderManifests& manifests);

/// The source files that the plans and indexes of the shards name as left out, with the reasons, by path. A plan or
/// index that cannot be read names none.
std::map<std::string, std::string> files_left_out(const catalog::ShardSet& set,
                                                  const catalog::FolderManifests& manifests);

/// Throws Error{not_found} if something is missing.
void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

}  // namespace shardkit::dataset
