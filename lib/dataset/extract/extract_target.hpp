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

/// Where `shardctl extract` puts a member: names that strangers wrote become paths below a folder.
namespace shardkit::dataset {

/// "a/b.jpg" for "./a//b.jpg". Error{corrupt}, whose text is the reason alone, for what must not be written: empty, a
/// NUL, from the root, "..", a component of more than 255 bytes or a path of more than 4095, and what lies in our own
/// `.shardkit`.
Result<std::string> contained_path(std::string_view name);

/// Class names by label, as far as a manifest knows them.
class MemberPaths {
 public:
  explicit MemberPaths(const std::optional<formats::Manifest>& manifest);

  /// The path for `member` of `sample`; empty for a label, which becomes a folder. The original path where the sample
  /// knows it, below the manifest's `source_folder` where fields lay outside of the source. Else <class>/<name>, or the
  /// name alone when it starts with its class already or has no label. Error{corrupt} as contained_path().
  Result<std::string> place(const ListedSample& sample, const ListedMember& member) const;

  /// False when the folder for this label is its number, for lack of a name.
  bool knows_class(std::uint64_t label) const { return names_.contains(label); }

 private:
  std::string original_path(const ListedSample& sample, const ListedMember& member) const;

  std::map<std::uint64_t, std::string> names_;
  std::string source_folder_;  ///< of the source below the folder that holds its fields, too; empty: itself
};

/// The folder that an extract fills. While it lives it holds a lock in it and a place for unfinished files, both below
/// DST/.shardkit; finish() and the destructor take them away. Thread-safe.
class ExtractTarget {
 public:
  /// Makes the folder, and removes what a killed extract left. Throws Error{conflict} when another one is at work
  /// there or `.shardkit` is a link.
  ExtractTarget(io::FileSystem& files, const std::string& path);
  ~ExtractTarget();
  ExtractTarget(const ExtractTarget&) = delete;
  ExtractTarget& operator=(const ExtractTarget&) = delete;

  const io::ContainedFolder& root() const { return root_; }
  io::FileSystem& files() const { return files_; }
  /// Whether the file system takes names that differ in case only for one.
  bool folds_case() const;
  /// A new folder for unfinished files.
  io::File staging(std::size_t number) const;
  /// Everything is durable under its name, and nothing of our own is left.
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

/// Brings members under their names. They are written under numbers, made durable many at a time and only then named:
/// a file with its name is whole, also after a power cut. One thread at a time; one each.
class ExtractBatch {
 public:
  ExtractBatch(ExtractTarget& target, std::size_t number, Context& ctx);

  /// Writes the content of `member` of the shard at `path` for `place`, unless a file with that content is there.
  /// Throws Error{conflict} when something else is, and what read_member() throws.
  void add(ByteSource& shard, const std::string& path, const ListedMember& member, const std::string& place);

  /// Names what was added. Throws Error{conflict} when another writer took a name for other content meanwhile.
  void publish();

  std::uint64_t written() const { return written_; }
  std::uint64_t kept() const { return kept_; }

 private:
  struct Pending {
    std::string number;
    std::string place;
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

/// True when a whole file of the member's size stands at `place` below `root`; nothing else is looked at.
bool has_size_at(const io::ContainedFolder& root, const std::string& place, std::uint64_t size);

}  // namespace shardkit::dataset
