#pragma once

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
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_parser.hpp"

/// What shards hold, sample by sample: what stat, ls, cat and extract look through.
namespace shardkit::dataset {

inline constexpr std::string_view kLabelExtension = "cls";

/// Extensions in lower case that are data by a manifest's option `primary`, such as those of texts.
using PrimaryExtensions = std::set<std::string, std::less<>>;
void add_primary(const std::map<std::string, std::string>& options, PrimaryExtensions& primary);

/// True for members that only say something of others: a label, a text. `extension` is in lower case.
inline bool is_side_member(std::string_view extension, const PrimaryExtensions& primary) {
  const bool may_be = extension == kLabelExtension || extension == "json" || extension == "txt";
  return may_be && !primary.contains(extension);
}

/// Whether the last sample before the cut of an archive of `archive_bytes` is taken for whole: nothing of its members
/// is cut, and they are of the same extensions as those of the sample before it. `last` are its members.
template <class Members>
bool is_whole_before_cut(const Members& last, const std::vector<std::string>& extensions_before,
                         std::uint64_t archive_bytes) {
  std::vector<std::string> extensions;
  for (const auto& member : last) {
    if (member.offset > archive_bytes || member.size > archive_bytes - member.offset) return false;
    extensions.push_back(member.extension);
  }
  return extensions == extensions_before;
}

/// Collects the content of a .cls member and reads it: formats::kLabelRange in ASCII digits, white space around it
/// allowed, as Python's int() takes it.
class LabelReader {
 public:
  void start() { text_.clear(); }
  /// Pieces in order; of a content that is too long for a label no more is kept than proves it.
  void add(Bytes piece) { text_ += as_text(piece).substr(0, kLongest + 1 - text_.size()); }
  /// The label; empty when the content is none.
  std::optional<std::uint64_t> label() const;
  /// The content, cut, for messages.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kLongest = 32;
  std::string text_;
};

struct ListedMember {
  std::string name;          ///< as in the shard; of an index made by `shardctl index` its extension is in lower case
  std::string extension;     ///< in lower case
  std::uint64_t offset = 0;  ///< of the content within the shard
  std::uint64_t size = 0;    ///< of the content
  std::optional<std::uint64_t> xxh3;  ///< XXH3-64 of the content; only an index knows it
  bool plain = true;                  ///< false when what is stored is not the content: a sparse file
  std::string path = {};              ///< as formats::IndexMember::path
};

struct ListedSample {
  std::string key;
  std::optional<std::uint64_t> label;
  std::string path;                   ///< of its first file in the source; empty for shards made by others
  std::vector<ListedMember> members;  ///< in shard order, never empty
};

/// Is told of one shard's samples, in order.
struct ListingVisitor {
  /// Looks at each header before all else and may change it; false: the member belongs to no sample. Not for indexes.
  std::function<bool(formats::TarEntry&)> admit = [](formats::TarEntry&) { return true; };
  /// False when no more are needed; then what follows is passed over.
  std::function<bool(ListedSample&&)> sample;
  /// A member that belongs to no sample: folder, link, metadata, without extension. Only headers tell of those. One
  /// that stands inside a sample comes after it.
  std::function<void(formats::TarEntry&&)> other = [](formats::TarEntry&&) {};
  /// What is wrong with the archive; faults of its end that no reader minds are left out.
  std::function<void(const formats::TarFinding&)> finding = [](const formats::TarFinding&) {};
};

/// A sample of more members is refused, so that memory does not grow with a shard.
inline constexpr std::size_t kMostSampleMembers = 65'536;

/// Lists a shard by its headers, by the rules of formats::SampleGrouper; `path` is for messages. Raises the progress's
/// bytes by the shard's. False when it has no end-of-archive blocks, which no reader minds. Throws Error{corrupt} for a
/// file that is not a tar and a sample of too many members, Error{io, cancelled}, and what the visitor throws.
bool list_headers(ByteSource& shard, const std::string& path, const ListingVisitor& visitor, Context& ctx);

/// Lists shards of one set. Memory does not grow with a shard: a sample at a time. Thread-safe; borrows the set and the
/// context.
class SampleLister {
 public:
  SampleLister(const catalog::ShardSet& set, Context& ctx);

  struct Index {
    std::string path;
    formats::ShardSummary summary;
  };
  /// The index that may stand for the shard's headers: it can be read, names this shard with the size that it has, and
  /// agrees with the manifest where there is one. One that does not fit is a warning, once.
  std::optional<Index> index_of(const catalog::ShardFile& shard) const;

  /// By the index where one fits (then it returns true), else by headers. Raises the progress's bytes by the shard's.
  /// Throws Error{not_found, denied, io} for what cannot be read, Error{corrupt} for a damaged index, a file that is no
  /// tar and a sample of too many members, Error{cancelled} on a stop.
  bool list(const catalog::ShardFile& shard, const ListingVisitor& visitor) const;
  void list_by_index(const catalog::ShardFile& shard, const Index& index, const ListingVisitor& visitor) const;
  void list_by_headers(const catalog::ShardFile& shard, const ListingVisitor& visitor) const;

 private:
  const catalog::ShardSet& set_;
  Context& ctx_;
  std::unordered_map<std::string_view, const formats::ManifestShard*> listed_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> warned_of_;  ///< paths of indexes
};

/// A visitor's `finding` for verbs that go on: the shard's first fault becomes a warning. One for each shard.
std::function<void(const formats::TarFinding&)> warn_of_damage(const catalog::ShardFile& shard, Context& ctx);

/// Hands the content of `member` of the shard at `path` to `take` in order, in pieces of at most 1 MiB. Throws
/// Error{unsupported} for a sparse member before anything is handed out; Error{corrupt} when the shard ends within it
/// or, at the end, when the content has another checksum than the index says; Error{io, cancelled}.
void read_member(ByteSource& shard, const std::string& path, const ListedMember& member, const Context& ctx,
                 const std::function<void(Bytes)>& take);

}  // namespace shardkit::dataset
