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

/// Whether the folder itself was filled by a stage.
bool is_staged(const std::string& folder);

/// What a set lacks.
struct Missing {
  std::string text;            ///< one line
  bool is_unfinished = false;  ///< it was not written yet; else it is gone

  /// The line, with what to do.
  std::string with_advice() const;
};

/// A message that the stage that brought the folder's files is not complete; empty if none did, or it is.
std::optional<std::string> unfinished_stage(const std::string& folder);

/// What the sets in named folders lack: shards that a manifest lists, or the rest of an incomplete convert, reshard,
/// stage or upload. Empty if nothing is missing, and for shards that were named one by one.
std::optional<Missing> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);

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

/// Throws Error{not_found} if something is missing, with what to do.
void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests);
/// The same for verbs that can read the rest: shards that are gone are a warning if others are there.
void refuse_unfinished(const catalog::ShardSet& set, const catalog::FolderManifests& manifests, Context& context);

}  // namespace shardkit::dataset
