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

/// The content of shards, sample by sample: used by stat, ls, cat and extract.
namespace shardkit::dataset {

inline constexpr std::string_view kLabelExtension = "cls";

/// Extensions in lower case that a manifest's option `primary` marks as data, such as those of texts.
using PrimaryExtensions = std::set<std::string, std::less<>>;
void add_primary(const std::map<std::string, std::string>& options, PrimaryExtensions& primary);

/// True for members that describe others: a label, a text. `extension` is in lower case.
inline bool is_side_member(std::string_view extension, const PrimaryExtensions& primary) {
  const bool may_be = extension == kLabelExtension || extension == "json" || extension == "txt";
  return may_be && !primary.contains(extension);
}

/// What a sample has besides a label. A member without content is nothing.
enum class SampleContent { data, text, label };
SampleContent content_of(const formats::IndexSample& sample, const PrimaryExtensions& primary);

/// Whether `texts` samples of texts alone are data, such as for a language model, and do not lack an image: if they are
/// at least half of a set's `samples`.
inline bool texts_are_data(std::uint64_t texts, std::uint64_t samples) { return 2 * texts >= samples; }

/// Whether the last sample before the truncated end of an archive of `archive_bytes` counts as complete: none of its
/// members is truncated, and they have the same extensions as those of the sample before it. `last` are its members.
bool is_whole_before_cut(const std::vector<formats::IndexMember>& last,
                         const std::vector<std::string>& extensions_before, std::uint64_t archive_bytes);

/// Whether the last sample of an archive without an end lacks members: it has only the first of those that the sample
/// before it has.
bool is_start_of_sample(const std::vector<formats::IndexMember>& last,
                        const std::vector<std::string>& extensions_before);

/// Collects the content of a .cls member and reads it: formats::kLabelRange in ASCII digits, white space around it
/// allowed, as Python's int() takes it.
class LabelReader {
 public:
  void start() { text_.clear(); }
  /// Takes pieces in order; of content that is too long for a label, keeps only enough to prove it.
  void add(Bytes piece) { text_ += as_text(piece).substr(0, kLongest + 1 - text_.size()); }
  /// The label; empty if the content is not one.
  std::optional<std::uint64_t> label() const;
  /// The content, shortened, for messages.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kLongest = 32;
  std::string text_;
};

/// Receives the samples of one shard, in order. Members have names; if their index was made by `shardctl index`, with
/// the extension in lower case.
struct ListingVisitor {
  /// Sees each header first and may change it; false: the member belongs to no sample. Not called for indexes.
  std::function<bool(formats::TarEntry&)> admit = [](formats::TarEntry&) { return true; };
  /// False if no more samples are needed; then the rest is skipped.
  std::function<bool(formats::IndexSample&&)> sample;
  /// A member that belongs to no sample: folder, link, metadata, without extension. Called only when headers are read.
  /// One that is inside a sample is passed after it.
  std::function<void(formats::TarEntry&&)> other = [](formats::TarEntry&&) {};
  formats::AfterEnd after_end = formats::AfterEnd::stop;
  /// A fault of the archive; faults of its end that readers ignore are left out.
  std::function<void(const formats::TarFinding&)> finding = [](const formats::TarFinding&) {};
};

/// A sample with more members is refused, so that memory does not grow with a shard.
inline constexpr std::size_t kMostSampleMembers = 65'536;

/// Lists a shard by its headers, by the rules of formats::SampleGrouper; `path` is for messages. Adds the shard's bytes
/// to the progress. False if it has no end-of-archive blocks, which readers accept. Throws Error{corrupt} for a file
/// that is not a tar and a sample of too many members, Error{io, cancelled}, and the errors of the visitor.
bool list_headers(ByteSource& shard, const std::string& path, const ListingVisitor& visitor, Context& context);

/// Lists shards of one set, one sample at a time, so that memory does not grow with a shard. Thread-safe; borrows the
/// set and the context.
class SampleLister {
 public:
  SampleLister(const catalog::ShardSet& set, Context& context);

  /// By the index if one fits (then it returns true), else by headers. With `spelled`, an index of shardctl index does
  /// not fit: it does not know how the tar spells names. Adds the shard's bytes to the progress. Throws
  /// Error{not_found, denied, io} for files that cannot be read, Error{corrupt} for a damaged index, a file that is not
  /// a tar and a sample of too many members, Error{cancelled} on a stop.
  bool list(const catalog::ShardFile& shard, const ListingVisitor& visitor, bool spelled = false) const;

 private:
  /// Whether the index may replace the shard's headers: it can be read, names this shard with its size, and agrees with
  /// the manifest if there is one. An index that does not fit is a warning, once.
  bool has_index(const catalog::ShardFile& shard, const std::string& index, bool spelled) const;

  const catalog::ShardSet& set_;
  Context& context_;
  std::unordered_map<std::string_view, const formats::ManifestShard*> listed_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> warned_of_;  ///< paths of indexes
};

/// A visitor's `finding` for verbs that continue: the shard's first fault becomes a warning. One object per shard.
std::function<void(const formats::TarFinding&)> warn_of_damage(const catalog::ShardFile& shard, Context& context);

/// Passes the content of `member` of the shard at `path` to `take` in order, in pieces of at most 1 MiB. Throws
/// Error{unsupported} for a sparse member before the first piece; Error{corrupt} if the shard ends within it or, at the
/// end, if the content differs from the index's checksum; Error{io, cancelled}.
void read_member(ByteSource& shard, const std::string& path, const formats::IndexMember& member, const Context& context,
                 const std::function<void(Bytes)>& take);

}  // namespace shardkit::dataset
