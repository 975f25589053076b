#include "dataset/samples/sample_lister.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "catalog/shard_faults.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {

SampleContent content_of(const formats::IndexSample& sample, const PrimaryExtensions& primary) {
  auto content = SampleContent::label;
  for (const formats::IndexMember& member : sample.members) {
    if (member.size == 0) continue;
    if (!is_side_member(member.extension, primary)) return SampleContent::data;
    if (member.extension != kLabelExtension) content = SampleContent::text;
  }
  return content;
}

bool is_whole_before_cut(const std::vector<formats::IndexMember>& last,
                         const std::vector<std::string>& extensions_before, std::uint64_t archive_bytes) {
  std::vector<std::string> extensions;
  for (const formats::IndexMember& member : last) {
    if (member.offset > archive_bytes || member.size > archive_bytes - member.offset) return false;
    extensions.push_back(member.extension);
  }
  return extensions == extensions_before;
}

bool is_start_of_sample(const std::vector<formats::IndexMember>& last,
                        const std::vector<std::string>& extensions_before) {
  return last.size() < extensions_before.size() &&
         std::ranges::equal(last, extensions_before | std::views::take(last.size()), {},
                            &formats::IndexMember::extension);
}

std::optional<std::uint64_t> LabelReader::label() const {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const std::size_t first = text_.find_first_not_of(kSpace);
  if (first == std::string::npos || text_.size() > kLongest) return std::nullopt;
  const std::size_t last = text_.find_last_not_of(kSpace);
  return parse_count(std::string_view(text_).substr(first, last - first + 1), formats::kLargestLabel);
}

namespace {

constexpr unsigned kSamplesBetweenChecks = 256;

/// Makes samples of a shard's headers and reads their labels.
class HeaderLister {
 public:
  HeaderLister(ByteSource& source, const std::string& path, const ListingVisitor& visitor)
      : source_(source), path_(path), visitor_(visitor) {}

  bool wants_more() const { return wants_more_; }

  void add(formats::TarEntry&& entry) {
    const bool admitted = visitor_.admit(entry) && entry.type == formats::TarType::regular;
    const auto name =
        admitted && !formats::is_metadata_name(entry.name) ? formats::split_sample_name(entry.name) : std::nullopt;
    if (!name) return hold(std::move(entry));
    if (auto done = grouper_.add(entry)) pass(std::move(*done));
    if (members_++ == kMostSampleMembers) refuse_sample(entry, name->key);
    if (lower_case(name->extension) != kLabelExtension) return;
    // Of members with one name the last counts; of others the first, because reshard numbers the rest.
    if (label_name_.empty()) label_name_ = entry.name;
    if (label_name_ == entry.name) label_ = read_label(entry);
  }

  /// The last sample, and the members that wait until it ends.
  void finish() {
    if (auto last = grouper_.finish()) pass(std::move(*last));
  }

 private:
  void pass(formats::IndexSample&& sample) {
    sample.label = std::exchange(label_, std::nullopt);
    label_name_.clear();
    members_ = 0;
    if (wants_more_) wants_more_ = visitor_.sample(std::move(sample));
    release();
  }

  /// Until its sample is complete, so that folders between samples keep their position.
  void hold(formats::TarEntry&& entry) {
    constexpr std::size_t kMostHeld = 1000;
    held_.push_back(std::move(entry));
    if (members_ == 0 || held_.size() == kMostHeld) release();
  }

  void release() {
    for (formats::TarEntry& entry : held_) visitor_.other(std::move(entry));
    held_.clear();
  }

  std::optional<std::uint64_t> read_label(const formats::TarEntry& entry) {
    std::array<std::byte, 64> text{};  // a longer one is not a label
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(entry.size, text.size()));
    LabelReader reader;
    reader.start();
    reader.add(Bytes(text).first(source_.read_at(entry.data_offset, MutableBytes(text).first(wanted))));
    return reader.label();
  }

  [[noreturn]] void refuse_sample(const formats::TarEntry& entry, std::string_view key) const {
    throw Error(ErrorCode::corrupt, At{path_, entry.header_offset}, "shard '{}': sample '{}' has more than {} members",
                path_, key, kMostSampleMembers);
  }

  ByteSource& source_;
  const std::string& path_;
  const ListingVisitor& visitor_;
  formats::SampleGrouper grouper_;
  std::size_t members_ = 0;  ///< of the current sample
  std::string label_name_;   ///< of the member that is its label
  std::optional<std::uint64_t> label_;
  std::vector<formats::TarEntry> held_;
  bool wants_more_ = true;
};

/// A file that is not a tar is an error: an empty list would be misleading.
bool is_no_tar(formats::TarFault fault) {
  return fault == formats::TarFault::empty || fault == formats::TarFault::compressed ||
         fault == formats::TarFault::not_a_tar;
}

}  // namespace

void add_primary(const std::map<std::string, std::string>& options, PrimaryExtensions& primary) {
  const auto option = options.find("primary");
  if (option == options.end()) return;
  for (const auto part : option->second | std::views::split(',')) {
    const std::string_view extension(part.begin(), part.end());
    primary.insert(lower_case(extension.substr(extension.starts_with('.') ? 1 : 0)));
  }
}

bool list_headers(ByteSource& shard, const std::string& path, const ListingVisitor& visitor, Context& context) {
  bool has_end = true;
  HeaderLister lister(shard, path, visitor);
  const auto find = [&](const formats::TarFinding& finding) {
    if (is_no_tar(finding.fault)) {
      std::string text = fmt::format("'{}' is not a readable tar: {}", path, finding.text);
      if (finding.fault == formats::TarFault::compressed) {
        text += fmt::format("; {} writes plain shards from it", remedy::in_text(remedy::reshard_unread({path})));
      }
      throw Error(ErrorCode::corrupt, text, path, finding.offset);
    }
    if (finding.fault == formats::TarFault::data_after_end) lister.finish();  // no sample is in two archives
    if (finding.fault == formats::TarFault::missing_end) {
      has_end = false;
    } else if (finding.fault != formats::TarFault::short_end) {
      visitor.finding(finding);
    }
  };
  formats::TarScanner scanner(shard, find, visitor.after_end);
  formats::TarEntry entry;
  while (lister.wants_more() && scanner.next(entry)) {
    context.throw_if_stopped();
    lister.add(std::move(entry));
  }
  lister.finish();
  context.progress().bytes.fetch_add(shard.size(), std::memory_order_relaxed);
  return has_end;
}

SampleLister::SampleLister(const catalog::ShardSet& set, Context& context) : set_(set), context_(context) {
  if (!set_.manifest) return;
  for (const formats::ManifestShard& shard : set_.manifest->shards) listed_.emplace(shard.name, &shard);
}

bool SampleLister::has_index(const catalog::ShardFile& shard, const std::string& index, bool spelled) const {
  if (!set_.inputs->exists(index)) return false;
  try {
    const auto entry = listed_.find(shard.name);
    const formats::ShardSummary summary = catalog::fitting_summary(
        *set_.inputs->open(index), index, shard, entry == listed_.end() ? nullptr : entry->second, true);
    return !spelled || !summary.plan.empty();
  } catch (const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (warned_of_.insert(index).second) catalog::warn_of_index(shard.path, error, context_);
    return false;
  }
}

bool SampleLister::list(const catalog::ShardFile& shard, const ListingVisitor& visitor, bool spelled) const {
  const std::string index = io::join_path(io::parent_folder(shard.path), formats::shard_index_path(shard.name));
  if (!has_index(shard, index, spelled)) {
    list_headers(*set_.inputs->open(shard.path), shard.path, visitor, context_);
    return false;
  }
  const auto source = set_.inputs->open(index);
  bool wants_more = true;
  unsigned samples = 0;
  formats::ShardIndexVisitor lines;
  lines.sample = [&](formats::IndexSample&& sample) {
    if (++samples % kSamplesBetweenChecks == 0) context_.throw_if_stopped();
    formats::name_members(sample);
    if (wants_more) wants_more = visitor.sample(std::move(sample));
  };
  formats::read_shard_index(*source, index, lines);
  context_.progress().bytes.fetch_add(shard.bytes, std::memory_order_relaxed);
  return true;
}

std::function<void(const formats::TarFinding&)> warn_of_damage(const catalog::ShardFile& shard, Context& context) {
  return [&shard, &context, warned = false](const formats::TarFinding& finding) mutable {
    if (!std::exchange(warned, true)) catalog::warn_of_damage(shard.path, finding, context);
  };
}

void read_member(ByteSource& shard, const std::string& path, const formats::IndexMember& member, const Context& context,
                 const std::function<void(Bytes)>& take) {
  const auto fail = [&](ErrorCode code, std::string_view why) {
    throw Error(code, At{path, member.offset}, "member '{}' of shard '{}' {}", member.name, path, why);
  };
  if (!member.plain) fail(ErrorCode::unsupported, "is a sparse file, whose content is not stored in one piece");
  Xxh3Stream hash;
  const std::uint64_t got = shard.stream(member.offset, member.size, [&](Bytes piece) {
    context.throw_if_stopped();
    if (member.xxh3) hash.update(piece);
    take(piece);
  });
  if (got < member.size) fail(ErrorCode::corrupt, "is cut: the file ends within it");
  if (member.xxh3 && hash.digest64() != *member.xxh3) {
    fail(ErrorCode::corrupt, fmt::format("differs from the checksum in its index; {} shows how much is damaged",
                                         remedy::in_text(remedy::verify({path}))));
  }
}

}  // namespace shardkit::dataset
