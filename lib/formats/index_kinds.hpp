#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "formats/sample_name.hpp"

/// The kinds of index next to shards: our own, and those of other readers. A kind is one row of index_kinds() and one
/// file that implements it.
namespace shardkit::formats {

/// What the indexes of a whole set contain about one shard.
struct IndexedShard {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t wids_samples = 0;           ///< as counted by wids
  std::string md5 = {};                     ///< empty unless a kind needs it
  std::set<std::string> image_extensions;   ///< as spelled in the shard
  std::uint64_t unclassified = 0;           ///< samples that are not an image with a label
  std::optional<std::string> wids_trouble;  ///< the first member that wids reads incorrectly, and why

  void add(const IndexSample& sample);
};

/// Writes the index of a reader for one shard.
class ShardIndexLines {
 public:
  virtual ~ShardIndexLines() = default;
  /// The next sample of the shard. Throws Error{unsupported} for names that the reader cannot read.
  virtual void add(const IndexSample& sample) = 0;
  /// No sample follows; the archive's content ends at byte `end`.
  virtual void finish(std::uint64_t end) = 0;
  /// What precedes everything that was written to the sink; known after finish().
  virtual std::string head() const { return {}; }
};

/// A file for a whole set of shards.
struct SetIndexFile {
  std::string name;          ///< relative to the folder of the shards
  std::string text;          ///< unless `unknown`
  bool users_edit = false;   ///< a file with another text is kept, with a warning
  std::string unknown = {};  ///< not empty: the user must write it; a warning while it is missing
  std::string code = {};     ///< of that warning
};

struct SetIndex {
  std::vector<SetIndexFile> files;
  std::vector<Finding> warnings = {};
};

/// Contents of an index of a whole set about one shard.
struct ShardCount {
  std::string shard;  ///< name or URL
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> bytes = {};
};

struct IndexKind {
  std::string_view name;       ///< in --index, and the option of `shardctl index`
  std::string_view help = {};  ///< of that option
  /// The file next to each shard, relative to the shard's folder; null: none.
  std::string (*shard_file)(std::string_view shard) = nullptr;
  /// Writes that file to `sink`; `shard` is the path of the tar, for messages. Both outlive the result.
  std::unique_ptr<ShardIndexLines> (*shard_writer)(ByteSink& sink, const std::string& shard) = nullptr;
  /// The files for the whole set, relative to its folder; the first contains the counts.
  std::vector<std::string> set_files = {};
  /// Creates these files. `shards` are sorted by name and at least one; `prefix` precedes names in messages: the folder
  /// and a slash.
  SetIndex (*write_set)(const std::vector<IndexedShard>& shards, const std::string& prefix) = nullptr;
  /// Reads the first of them, for verify. Throws Error{corrupt, unsupported}; `path` is for messages.
  std::vector<ShardCount> (*read_set)(const std::string& text, const std::string& path) = nullptr;
  /// Reads the file of one shard, for verify: its samples, and where the content of the last member ends. Throws
  /// Error{corrupt}; `path` is for messages.
  ShardCount (*read_shard)(std::string_view text, const std::string& path) = nullptr;
  bool needs_md5 = false;  ///< of each shard
};

/// All kinds. The first is our own: convert and index always write it.
std::span<const IndexKind> index_kinds();
/// Whether a path is that of a file in `set_files`, in any folder: it changes when the set grows.
bool is_set_file(std::string_view path);
/// Those of other readers, written on request.
std::span<const IndexKind> reader_index_kinds();

/// The row of Megatron-Energon. The rows of DALI and wids are in their headers, which others need too.
IndexKind energon_index_kind();

/// The index's usual name for a shard: its name up to the first dot, and ".idx". Two shards may get the same.
std::string dali_index_name(std::string_view shard);

/// Its row of index_kinds().
IndexKind dali_index_kind();

}  // namespace shardkit::formats
