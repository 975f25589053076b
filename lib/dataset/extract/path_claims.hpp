#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dataset/samples/sample_lister.hpp"

/// Which paths of an extract collide, and which member keeps them. Two files collide if their paths are equal when case
/// is ignored, and a file collides with a folder of the same path.
namespace shardkit::dataset {

/// `path` in lower case, as file systems that fold case compare names.
std::string folded(const std::string& path);

/// 64-bit hashes of all paths without their case, 8 bytes each, and of their folders.
class PathHashes {
 public:
  void add(const std::string& path);
  void add(PathHashes&& other);
  /// Call this after the last add().
  void finish();

  bool has_meetings() const { return !meeting_.empty(); }
  /// Whether another path may be equal to this one, or to a folder of it. True for a few others, too.
  bool meets(const std::string& path) const;
  bool is_folder(const std::string& path, bool folds_case) const;
  /// Whether no member has the path.
  bool is_free(const std::string& path) const;

 private:
  std::vector<std::uint64_t> files_;
  std::set<std::uint64_t> folders_;
  std::set<std::uint64_t> exact_folders_;  ///< with their case
  std::set<std::uint64_t> meeting_;
};

struct PathClaim {
  std::size_t shard = 0;
  ListedMember member;
};

/// Assigns the paths that collide. A folder keeps its name. Of files, the first keeps the path, those with its content
/// share it, and each other gets '-' and 8 digits of XXH3-64 over "<shard>/<member>" after its stem.
class PathClaims {
 public:
  /// The caller keeps `hashes` alive. `folds_case`: names that differ only in case are equal.
  PathClaims(const PathHashes& hashes, bool folds_case) : hashes_(hashes), folds_case_(folds_case) {}

  /// The final path for a member with the path `path`. `same` tells whether it has the content of the first member with
  /// that path. `shard` is the name of its shard.
  std::string claim(const std::string& path, const PathClaim& member, const std::string& shard,
                    const std::function<bool(const PathClaim&)>& same);

 private:
  std::string free_path(const std::string& path, const std::string& origin);

  const PathHashes& hashes_;
  const bool folds_case_;
  std::map<std::string, PathClaim> first_;  ///< by path
  std::set<std::string> given_;
};

}  // namespace shardkit::dataset
