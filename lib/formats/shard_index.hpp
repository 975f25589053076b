#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "core/hash.hpp"
#include "formats/manifest.hpp"

/// The per-shard sample index `.shardkit/<shard>.index` (docs/explain/formats.md, "Shard index", version 1).
///
/// Lines of tab-separated text, so that cut, grep and a five-line script can read it. Both sides stream it with one
/// line in memory.
namespace shardkit::formats {

/// One member of a sample, such as the image or its label: of an index, a plan or a tar.
struct IndexMember {
  std::string extension;                   ///< "jpg", "cls": the part after the key and a dot, in lower case
  std::uint64_t offset = 0;                ///< of the first content byte within the shard
  std::uint64_t size = 0;                  ///< content bytes
  std::optional<std::uint64_t> xxh3 = {};  ///< XXH3-64 of the content; an index has it
  std::string path = {};                   ///< of its file, relative to the source; empty if implied_path() gives it
  std::string name = {};                   ///< as the tar spells it; empty where only an index was read
  bool plain = true;                       ///< false if the stored bytes are not the content: a sparse file
  bool operator==(const IndexMember&) const = default;
};

struct IndexSample {
  std::string key;
  std::optional<std::uint64_t> label;  ///< empty if the shard has no .cls
  std::string path;                    ///< of the image, relative to the source; empty for shards made by others
  std::vector<IndexMember> members;    ///< in shard order, never empty
  std::uint64_t offset = 0;            ///< of its first member's record, where the tar was read
  /// The extension of a member with a name, as the tar spells it.
  std::string_view spelling(const IndexMember& member) const {
    return std::string_view(member.name).substr(key.size() + 1);
  }
  bool operator==(const IndexSample&) const = default;
};

/// Path of a member's file unless an index has another one, from the path of its sample: the path itself for the file
/// that started the sample, else the path with the member's extension instead of the last.
std::string implied_path(std::string_view sample_path, std::string_view extension);

/// Adds what only a tar has, names and the first record, as convert and reshard write them.
void name_members(IndexSample& sample);

/// A file or sample that was left out, and why.
struct IndexSkip {
  std::string path;
  std::string reason;
  bool operator==(const IndexSkip&) const = default;

  void describe(FieldList& v) {
    v.field({"path", "relative to the source"}, path);
    v.field({"reason", "why it is in no shard"}, reason);
  }
};

/// Contents of the first and last lines of an index about its shard: what a manifest lists of it, and more.
struct ShardSummary : ManifestShard {
  std::string plan;  ///< plan hash, 32 hex digits; empty for shards made by others
  std::uint64_t skipped = 0;
  bool operator==(const ShardSummary&) const = default;
};

class ShardIndexWriter {
 public:
  /// Writes the head. `plan` may be empty.
  ShardIndexWriter(ByteSink& sink, std::string_view shard, std::string_view plan);

  void add(const IndexSample& sample);
  void add(const IndexSkip& skip);

  /// Writes the closing line and returns the summary. Nothing may follow.
  ShardSummary finish(std::uint64_t tar_bytes, const Hash128& tar_hash, std::vector<Hash128> parts = {});

 private:
  void line();

  ByteSink& sink_;
  Xxh3Stream hash_;
  ShardSummary summary_;
  std::string head_;  ///< the first line
  std::string line_;
};

/// Called for each sample and skip, in shard order. The argument may be moved from.
struct ShardIndexVisitor {
  std::function<void(IndexSample&&)> sample = [](IndexSample&&) {};
  std::function<void(IndexSkip&&)> skip = [](IndexSkip&&) {};
};

/// Reads a whole index. Throws Error{corrupt} with the offset of the line if the text is damaged, truncated or of
/// another version. `name` is the file's name for messages.
ShardSummary read_shard_index(ByteSource& source, const std::string& name, const ShardIndexVisitor& visitor);

/// Reads only the first line and the last, with their checksum: a few kilobytes, whatever the number of samples. Damage
/// between them goes unnoticed, unless `whole`: then all of it is read and compared with its checksum.
ShardSummary read_shard_summary(ByteSource& source, const std::string& name, bool whole = false);

/// The index's path for a shard, relative to the folder of the shard: ".shardkit/<shard>.index".
std::string shard_index_path(std::string_view shard);

/// A sample that reshard copies from one tar to another, which is a line of its plan. Key and extensions are those in
/// the output, offsets those in the input; members are in output order, by extension.
struct MovedSample : IndexSample {
  std::uint64_t input = 0;  ///< number of the input tar
  std::string source_key;   ///< key in the input
  bool operator==(const MovedSample&) const = default;
};

/// The sample's line, without newline. Without `positions`: the part that the plan's hash covers, which is everything
/// except the sample's position in the inputs.
std::string moved_sample_line(const MovedSample& sample, bool positions = true);

/// Reads the columns of a line; false if they are invalid. `sample` is overwritten.
bool parse_moved_sample(const std::vector<std::string_view>& columns, MovedSample& sample);

/// The class of the sample's path, as index into `classes`; empty if the path has none of them. For classes to which a
/// class map gave one label.
std::optional<std::size_t> class_of_path(const MovedSample& sample, const std::vector<std::string>& classes);

/// Size of the sample in a tar.
std::uint64_t moved_sample_tar_bytes(const MovedSample& sample);

/// Most bytes that its key may have, so that a tar can hold the names of all members.
std::size_t longest_key(const MovedSample& sample);

}  // namespace shardkit::formats
