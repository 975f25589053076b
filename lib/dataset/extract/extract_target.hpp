#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/manifest.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"

/// Where `shardctl extract` puts a member: names written by others become paths below a folder.
namespace shardkit::dataset {

/// "a/b.jpg" for "./a//b.jpg". Error{corrupt}, whose text is only the reason, for names that must not be written:
/// empty, with a NUL, absolute, with "..", with a component of more than 255 bytes, of more than 4095 bytes, or inside
/// our own `.shardkit`.
Result<std::string> contained_path(std::string_view name);

/// Class names by label, if a manifest has them.
class MemberPaths {
 public:
  explicit MemberPaths(const std::optional<formats::Manifest>& manifest);

  /// The path for `member` of `sample`; empty for a label, which becomes a folder. The original path if the sample has
  /// it, below the manifest's `source_folder` if fields were outside of the source. Else <class>/<name>, or the name
  /// alone if it already starts with its class or has no label. Throws Error{corrupt} like contained_path().
  Result<std::string> path_of(const formats::IndexSample& sample, const formats::IndexMember& member) const;

  /// False if the folder of this label has its number as name.
  bool knows_class(std::uint64_t label) const { return names_.contains(label); }

 private:
  std::string original_path(const formats::IndexSample& sample, const formats::IndexMember& member) const;

  std::map<std::uint64_t, std::string> names_;
  std::string source_folder_;  ///< of the source below the folder that holds its fields, too; empty: itself
};

/// The folder that an extract fills. During its lifetime it holds a lock in it and a folder for unfinished files, both
/// below DST/.shardkit; finish() and the destructor remove them. Thread-safe.
class ExtractTarget {
 public:
  /// Makes the folder, and removes what a killed extract left behind. Throws Error{conflict} if another extract is
  /// running there or `.shardkit` is a link.
  ExtractTarget(io::FileSystem& files, const std::string& path);
  ~ExtractTarget();
  ExtractTarget(const ExtractTarget&) = delete;
  ExtractTarget& operator=(const ExtractTarget&) = delete;

  const io::ContainedFolder& root() const { return root_; }
  io::FileSystem& files() const { return files_; }
  /// Whether the file system treats names that differ only in case as one.
  bool folds_case() const;
  /// A new folder for unfinished files.
  io::File staging(std::size_t number) const;
  /// Makes every file durable under its name, and removes our own temporary files.
  void finish();

 private:
  void lock();
  void clear();

  io::FileSystem& files_;
  io::ContainedFolder root_;
  io::File state_;  ///< DST/.shardkit
  io::File lock_;
  bool finished_ = false;
};

/// Gives members their final names. They are written under numbers, made durable many at a time and only then renamed:
/// a file with its final name is complete, also after a power cut. One object per thread.
class ExtractBatch {
 public:
  ExtractBatch(ExtractTarget& target, std::size_t number, Context& context);

  /// Writes the content of `member` of the shard at `path` to `name`, unless a file with that content exists. Throws
  /// Error{conflict} if something else exists there, and the errors of read_member().
  void add(ByteSource& shard, const std::string& path, const formats::IndexMember& member, const std::string& name);

  /// Renames the added files. Throws Error{conflict} if another writer meanwhile used a name for other content.
  void publish();

  std::uint64_t written() const { return written_; }
  std::uint64_t kept() const { return kept_; }

 private:
  struct Pending {
    std::string number;
    std::string name;
    std::uint64_t size;
  };
  void publish(const Pending& pending);

  ExtractTarget& target_;
  Context& context_;
  io::File staging_;
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t kept_ = 0;
};

/// True if a file of the member's size exists at `name` below `root`; nothing else is checked.
bool has_size_at(const io::ContainedFolder& root, const std::string& name, std::uint64_t size);

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
  formats::IndexMember member;
};

/// Assigns the paths that collide: of files whose paths are equal when case is ignored, or of a file and a folder. A
/// folder keeps its name. Of files, the first keeps the path, those with its content
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
