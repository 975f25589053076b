#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/context.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/checks/whole_set.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/index_kinds.hpp"

namespace shardkit::dataset {

/// 64-bit hashes of all samples' keys, to find those that occur more than once. 14 million take 112 MB, and at most
/// as much again while it grows; they lie in many small vectors, of which one at a time is copied.
class KeyTable {
 public:
  /// Adds one shard's hashes. Thread-safe.
  void add(const std::vector<std::uint64_t>& hashes);

  struct Repeated {
    std::vector<std::uint64_t> hashes;  ///< in ascending order, at most `limit`
    std::uint64_t total = 0;            ///< with those above the limit
  };
  /// The hashes that were added more than once. Sorts; call it once, after the last add().
  Repeated repeated(std::size_t limit);

 private:
  static constexpr unsigned kBucketBits = 10;

  std::mutex mutex_;
  std::array<std::vector<std::uint64_t>, 1U << kBucketBits> buckets_;
};

/// Checks that need all shards: repeated keys, labels, classes, and whether the shards are those that the manifest and
/// other programs' indexes list. The caller keeps the constructor's arguments alive.
class SetChecker {
 public:
  SetChecker(const catalog::ShardSet& set, const catalog::FolderManifests& manifests,
             const std::vector<ExpectedShard>& expected, std::vector<ShardReport>& reports)
      : set_(set), manifests_(manifests), expected_(expected), reports_(reports), log_("") {}

  /// Copies the needed facts of a shard that was read, so that thousands of reports do not stay in memory. Thread-safe.
  void add(ShardReport& report);

  /// After all shards were added: notes problems, in the report of the shard they belong to. Rereads headers if keys
  /// repeat. `labels_compared`: missing labels have already been noted, by comparison with the source.
  void finish(bool labels_compared, Context& context);

  /// Whether every shard that the manifest lists was read, and each to its end.
  bool is_whole() const;
  /// The kind of labels of the whole set; empty without labels.
  std::optional<VerifyClasses> classes() const;
  ProblemLog& log() { return log_; }
  /// Readers whose indexes beside the shards disagree with them: "wids".
  const std::set<std::string>& wrong_readers() const { return wrong_readers_; }
  /// Problems of missing shards.
  std::vector<ProblemLog>& missing() { return missing_; }
  /// What to do about the states of folders that are findings.
  const std::vector<std::string>& advice() const { return advice_; }

 private:
  void check_keys(Context& context);
  void check_labels(bool labels_compared);
  void check_class_counts();
  void check_label_gaps();
  void check_kinds();
  void check_texts();
  void check_plans();
  void note_states(Context& context);
  void compare_extras();
  void compare_indexes();
  void compare_file(const formats::IndexKind& kind, const std::string& name,
                    const std::function<void(const std::string& text, const std::string& path)>& compare);
  void compare_shard_index(const formats::IndexKind& kind, std::size_t shard);
  void compare_count(const formats::IndexKind& kind, const std::string& index, const formats::ShardCount& count,
                     std::size_t shard, std::uint64_t bytes);

  const catalog::ShardSet& set_;
  const catalog::FolderManifests& manifests_;
  const std::vector<ExpectedShard>& expected_;
  std::vector<ShardReport>& reports_;
  ProblemLog log_;
  std::vector<ProblemLog> missing_;
  std::vector<std::string> advice_;
  std::set<std::string> wrong_readers_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  ///< numbers of shards of one folder
  std::unordered_map<std::string_view, Hash128> listed_;       ///< other readers' indexes in the manifest
  KeyTable keys_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> samples_by_label_;
  std::map<std::string, std::uint64_t> samples_by_kind_;
};

}  // namespace shardkit::dataset
