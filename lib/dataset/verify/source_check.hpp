#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "dataset/sharding/convert_facts.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

/// Holds shards against the ImageFolder tree they were made from: every byte of every image and side-car, every label,
/// and whether every image is there. Samples are found by the key that convert gives them, or by <class>/<stem> as
/// other converters name them.
class SourceCheck {
 public:
  /// Scans `source`, or takes the images of a list, with the side-cars that convert was told. Labels are those that
  /// `facts` give to the class names, or, where they have none, the classes' positions by name. Throws what
  /// scan_source() throws, and the Error of a file that cannot be read, unless convert left such out.
  SourceCheck(const std::string& source, const ListOptions& images, ConvertFacts facts,
              std::shared_ptr<catalog::Inputs> inputs, Context& ctx);

  /// What compares one shard's members; to be used by the one thread that reads it. `log` stays the caller's.
  std::unique_ptr<MemberWatcher> comparer(ProblemLog& log);

  /// Notes the images that no shard held. To be called when all shards were read.
  void note_missing(ProblemLog& log) const;

  std::uint64_t images() const { return scan_.images(); }
  /// What of the shards the source cannot tell; empty when nothing.
  std::string not_compared() const;

 private:
  class Comparer;
  struct Place {
    std::uint32_t class_index = 0;
    std::uint32_t file = 0;
  };

  void add_keys();
  void add_key(std::string_view key, const Place& place);
  const Place* find(std::string_view key) const;
  std::string image_path(const Place& place) const;
  /// Path below the source of the file that a member was made from; empty when there is none.
  std::string path_of(const Place& place, std::string_view extension) const;

  std::string source_;
  ConvertFacts facts_;
  catalog::ImageFolderScan scan_;
  std::vector<std::uint64_t> labels_;              ///< by class; empty where the images have none
  std::vector<std::size_t> first_;                 ///< number of a class's first image among all
  std::unordered_map<std::uint64_t, Place> keys_;  ///< by XXH3-64
  std::vector<std::atomic<bool>> seen_;            ///< by image
};

}  // namespace shardkit::dataset
