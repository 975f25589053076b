#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/context.hpp"
#include "core/hash.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "dataset/sharding/shard_target.hpp"

namespace shardkit::dataset {

/// The samples that a set has before convert --append adds others: 32 bytes each in memory, of a split 48. Read-only
/// after the last add().
class EarlierSamples {
 public:
  explicit EarlierSamples(FileIdentity identity) : identity_(identity) {}

  /// Reads the earlier plans of a target, the next of the sets. `folder` stands before paths: of a set folder of the
  /// source "train/", else empty. Throws Error{corrupt, not_found} for plans and indexes that cannot be read.
  void add(const ShardTarget& target, const std::string& folder);

  /// Whether a sample of the set started with this file; `path` with its folder.
  bool has(const std::string& path) const { return find(path) != nullptr; }
  /// The number of the set of a split that has samples of the group (SplitFacts::group_hash); empty: none.
  std::optional<std::size_t> set_of(std::uint64_t group) const;
  /// Whether the .json of the samples are lists of rows.
  bool json_lists() const { return json_ == '['; }
  /// Paths that earlier runs left out, without their folder.
  const std::set<std::string>& left_out() const { return left_out_; }

  /// Gives classes the labels that they have in the set, and new ones those behind them, unless `source` fixes labels
  /// itself; forgets problems of files that earlier runs left out. `classes`: of all sets of the source together;
  /// empty: those of `source`. Throws Error{conflict} for a class that has another label now.
  void complete(ScannedSource& source, const std::string& folder, std::vector<std::string> classes, bool class_map,
                Context& context) const;

  struct Added {
    SampleOrder samples;           ///< numbers in the scan's order, ascending
    std::uint64_t readmitted = 0;  ///< files of these that earlier runs left out
  };
  /// The samples of `source` that no earlier plan has, of those in `within` (null: of all). Throws Error{conflict} for
  /// files of the set that have changed, and for new ones whose key a sample of the set has.
  Added added(const ScannedSource& source, const std::string& folder, const SampleOrder* within,
              Context& context) const;

 private:
  struct Entry {
    Hash128 path;             ///< XXH3-128
    std::uint64_t state = 0;  ///< state_of()
  };
  void add_plan(const std::string& path, const ShardTarget& target, const std::string& folder);
  void add_shard(const formats::PlanReader& plan, std::size_t shard, const ShardTarget& target,
                 const std::string& folder);
  std::uint64_t state_of(formats::PlannedSample sample, std::optional<std::uint64_t> label) const;
  bool is_still_bad(const catalog::ScannedClass& owner, const catalog::ScannedFile& file) const;
  const Entry* find(const std::string& path) const;

  FileIdentity identity_;
  std::vector<Entry> entries_;       ///< by path
  std::vector<std::uint64_t> keys_;  ///< XXH3-64 of each key, ascending
  std::vector<std::pair<std::uint64_t, std::size_t>>
      groups_;  ///< of a split, with the numbers of their sets; ascending
  std::size_t sets_ = 0;
  std::map<std::string, std::uint64_t> labels_;
  char json_ = '\0';  ///< how the .json of the samples starts: '[' for rows, '{' for one; 0: they have none
  std::set<std::string> left_out_;
  catalog::FileStates bad_;  ///< of these, those that were read and found bad, as they were then
};

}  // namespace shardkit::dataset
