#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/context.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

/// The convert options in the manifests that explain why shards differ from their source.
struct ConvertFacts {
  bool listed = false;         ///< the images come from a list
  bool resized = false;        ///< images were changed on purpose
  bool noted = false;          ///< .json members hold rows of tables
  bool skipped_bad = false;    ///< files that cannot be read were left out
  bool part_of_split = false;  ///< other images of the source are in sets that are not among these
  /// A class map numbered the classes, so that numbers in a list may be names.
  bool class_map = false;
  ShardingOptions made;                         ///< side-cars, fields, primaries and `unlabeled` as given to convert
  std::string set;                              ///< folder of the set in the source given to convert
  std::map<std::string, std::uint64_t> labels;  ///< by class name
};

/// Compares shards with the ImageFolder tree of their source: every byte of every image and side-car, every label, and
/// whether all of them exist. Samples are found by their path in the index, else by the key that convert gives them, or
/// by <class>/<stem> as other converters name them.
class SourceCheck {
 public:
  /// Scans `source`, or takes the images of a list, with the side-cars given to convert. Labels are those that the
  /// manifests of the shards' folders give to the class names, or, without any, the classes' positions by name. Throws
  /// the errors of scan_source(), and Error{corrupt} for an option of a manifest that convert does not write.
  SourceCheck(const std::string& source, const ListOptions& images, const catalog::ShardSet& shards,
              const catalog::FolderManifests& manifests, Context& context);

  /// Whether samples must have labels.
  bool is_labeled() const { return scan_.labeled(); }

  /// Whether images come over the network: then many shards should be compared at a time.
  bool is_remote() const { return source_.store != nullptr; }

  /// Compares one shard's members; used by the thread that reads it. The caller keeps `log` alive. `index`: path of the
  /// shard's index; empty: none that can be read.
  std::unique_ptr<MemberWatcher> comparer(ProblemLog& log, const std::string& index);

  /// Notes the files that cannot be read, such as broken links, unless convert left such files out.
  void note_unreadable(ProblemLog& log) const;

  /// Notes the images that no shard contained and no plan or index names as left out. Call this after all shards were
  /// read.
  void note_missing(ProblemLog& log) const;

  /// Images of the source without those that convert left out.
  std::uint64_t images() const;
  /// The facts about the shards that the source cannot confirm; empty if none.
  std::string not_compared() const;

 private:
  class Comparer;
  struct Position {
    std::uint32_t class_index = 0;
    std::uint32_t file = 0;
  };

  /// Files that were left out and that no later --append took in.
  struct LeftOut {
    std::uint64_t files = 0;
    std::uint64_t images = 0;  ///< of these: images that can be read
  };
  LeftOut left_out() const;
  void add_keys();
  void add_key(std::string_view key, const Position& position);
  using Positions = std::unordered_map<std::uint64_t, Position>;  ///< by XXH3-64 of a text
  static const Position* find(const Positions& positions, std::string_view text);
  /// The images of a shard's samples by key, as its index has them.
  Positions indexed(const std::string& index) const;
  /// The source file of a member; null if there is none.
  const catalog::ScannedFile* file_of(const Position& position, std::string_view extension) const;
  std::span<const catalog::ScannedMember> members_of(const Position& position) const;
  /// Opens one of the files of a class.
  std::unique_ptr<ByteSource> open(const Position& position, const catalog::ScannedFile& file) const;

  catalog::SourceFolder source_;
  ConvertFacts facts_;
  catalog::ImageFolderScan scan_;
  std::map<std::string, std::string> left_out_;       ///< by path: files that convert left out, with reasons
  std::vector<std::optional<std::uint64_t>> labels_;  ///< by class; empty for images without one
  std::vector<std::size_t> first_;                    ///< number of a class's first image among all
  Positions keys_;
  Positions paths_;
  std::vector<std::atomic<bool>> seen_;  ///< by image
};

}  // namespace shardkit::dataset
