#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  Result<std::string> path_of(const ListedSample& sample, const ListedMember& member) const;

  /// False if the folder of this label has its number as name.
  bool knows_class(std::uint64_t label) const { return names_.contains(label); }

 private:
  std::string original_path(const ListedSample& sample, const ListedMember& member) const;

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
  ExtractBatch(ExtractTarget& target, std::size_t number, Context& ctx);

  /// Writes the content of `member` of the shard at `path` to `name`, unless a file with that content exists. Throws
  /// Error{conflict} if something else exists there, and the errors of read_member().
  void add(ByteSource& shard, const std::string& path, const ListedMember& member, const std::string& name);

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
  Context& ctx_;
  io::File staging_;
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t kept_ = 0;
};

/// True if a file of the member's size exists at `name` below `root`; nothing else is checked.
bool has_size_at(const io::ContainedFolder& root, const std::string& name, std::uint64_t size);

}  // namespace shardkit::dataset
