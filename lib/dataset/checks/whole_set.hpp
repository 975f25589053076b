#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/shard_set.hpp"

namespace shardkit::dataset {

/// Paths of the existing plans in a folder, in the order in which they were followed.
std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder);

/// What the manifests of several folders say about labels.
struct LabelComparison {
  std::string text;                    ///< one line: whether they agree, and which folders lack classes
  std::vector<std::string> conflicts;  ///< a label with two names each, or a name with two labels
  /// A class name with U+FFFD, which earlier versions wrote for all bytes that are not UTF-8: two such names may be
  /// equal although the classes differ. Empty: none.
  std::string unclear_name = {};
};
LabelComparison compare_labels(const catalog::FolderManifests& manifests);
/// What to do about its conflicts: `merge`, a command that merges the classes by name, unless a name is unclear.
std::string advice_for_conflicts(const LabelComparison& labels, const std::string& merge);

/// The source files that the plans and indexes of the shards name as left out, with the reasons, by path. A plan or
/// index that cannot be read names none.
std::map<std::string, std::string> files_left_out(const catalog::ShardSet& set,
                                                  const catalog::FolderManifests& manifests);

}  // namespace shardkit::dataset
