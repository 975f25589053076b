#include "dataset/reshard/sample_gatherer.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fnmatch.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/plan_file.hpp"
#include "formats/portable_name.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_header.hpp"
#include "formats/tar_scanner.hpp"
#include "formats/tsv.hpp"

namespace shardkit::dataset {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

}  // namespace

SampleFilter::SampleFilter(const ReshardOptions& options, const std::vector<formats::ManifestClass>& classes)
    : globs_(options.keys),
      min_size_(options.min_size.value_or(0)),
      max_size_(options.max_size.value_or(std::numeric_limits<std::uint64_t>::max())) {
  if (min_size_ > max_size_) refuse("--min-size is above --max-size: no sample would be left");
  for (const std::string& wanted : options.classes) {
    bool found = false;
    for (const formats::ManifestClass& item : classes) {
      if (item.name != wanted) continue;
      classes_[item.label].insert(item.name);
      found = true;
    }
    std::uint64_t label = 0;
    if (!found && !formats::parse_number(wanted, label)) {
      refuse(
          fmt::format("--class '{}' is no label, and no class of that name is in the inputs' manifests; give its "
                      "label, or choose by --key 'PATTERN'",
                      wanted));
    }
    if (!found) labels_.insert(label);
  }
  for (auto& [label, names] : names_by_label(classes)) {
    if (!classes_.contains(label)) continue;
    if (names.size() == 1) {
      labels_.insert(label);
    } else {
      names_.emplace(label, std::move(names));
    }
  }
}

bool SampleFilter::keeps_class(const formats::MovedSample& sample) const {
  if (labels_.empty() && classes_.empty()) return true;
  if (!sample.label) return false;
  if (labels_.contains(*sample.label)) return true;
  const auto names = names_.find(*sample.label);
  return names != names_.end() &&
         classes_.at(*sample.label).contains(names->second[formats::class_of_path(sample, names->second)]);
}

bool SampleFilter::keeps(const formats::MovedSample& sample) const {
  if (!keeps_class(sample)) return false;
  const auto matches = [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), sample.source_key.c_str(), 0) == 0;
  };
  if (!globs_.empty() && std::ranges::none_of(globs_, matches)) return false;
  std::uint64_t bytes = 0;
  for (const formats::MovedMember& member : sample.members) bytes += member.size;
  return min_size_ <= bytes && bytes <= max_size_;
}

ExtensionMap::ExtensionMap(const std::vector<std::string>& renames) {
  for (const std::string& rename : renames) {
    const std::size_t equals = rename.find('=');
    const std::string from = formats::portable_moved_extension(rename.substr(0, equals));
    const std::string to = equals == std::string::npos ? "" : rename.substr(equals + 1);
    if (from.empty() || to.empty() || to != formats::portable_moved_extension(to) || to.starts_with('.') ||
        to.ends_with('.')) {
      refuse(
          fmt::format("--rename '{}': say OLD=NEW, such as jpeg=jpg; the new extension has letters in lower case, "
                      "digits, '_', '-' and dots between them",
                      rename));
    }
    if (!renames_.emplace(from, to).second) refuse(fmt::format("--rename names '{}' twice", from));
  }
}

std::string ExtensionMap::operator()(const std::string& extension) const {
  std::string portable = formats::portable_moved_extension(extension);
  const auto found = renames_.find(portable);
  return found == renames_.end() ? portable : found->second;
}

namespace {

/// Makes samples of a tar's headers and labels, for scan_shard(). Keys and extensions are those of the tar, the latter
/// in lower case; members of no sample are counted.
class TarSamples final : public formats::TarHandler {
 public:
  using OnSample = std::function<void(formats::MovedSample&&)>;

  /// `tar` is where the bytes lie, `name` what errors call it, `links` what resolve_hard_links() found. All stay the
  /// caller's.
  TarSamples(ByteSource& tar, const std::string& name, const std::map<std::uint64_t, LinkedContent>& links,
             OnSample on_sample)
      : tar_(tar), name_(name), links_(links), on_sample_(std::move(on_sample)) {}

  bool entry(const formats::TarEntry& entry) override;
  void content(Bytes piece) override { label_reader_.add(piece); }
  void content_end() override { label_ = label_reader_.label(); }
  /// Throws Error{corrupt} for what makes readers lose members.
  void finding(const formats::TarFinding& finding) override;
  /// No member follows.
  void finish();

  /// The tar has hard links that `links` lacks: resolve them and read it again.
  bool needs_links() const { return needs_links_; }
  bool lacks_end() const { return lacks_end_; }
  std::uint64_t ignored() const { return ignored_; }

 private:
  [[noreturn]] void fail(ErrorCode code, std::uint64_t offset, const std::string& text) const;
  void add(const formats::TarEntry& member);
  void read_linked_label(const LinkedContent& content);
  void give(formats::Sample&& found);

  ByteSource& tar_;
  const std::string& name_;
  const std::map<std::uint64_t, LinkedContent>& links_;
  OnSample on_sample_;
  formats::SampleGrouper grouper_;
  std::size_t members_ = 0;  ///< of the current sample
  LabelReader label_reader_;
  std::optional<std::uint64_t> label_;
  bool needs_links_ = false;
  bool lacks_end_ = false;
  std::uint64_t ignored_ = 0;
};

constexpr std::size_t kMostMembers = 4096;
constexpr std::uint64_t kLabelRead = 64;  // longer than any label

/// True for names of files that an operating system put beside samples (".DS_Store", "__MACOSX/x"), of hidden ones, and
/// of none: readers disagree about them.
bool is_stray_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.empty() || base.starts_with('.') || name.starts_with("__MACOSX/") ||
         name.find("/__MACOSX/") != std::string_view::npos;
}

bool TarSamples::entry(const formats::TarEntry& entry) {
  if (needs_links_ || entry.type == formats::TarType::directory) return false;
  const auto link = links_.find(entry.header_offset);
  if (entry.type == formats::TarType::hard_link && link == links_.end()) {
    needs_links_ = true;
    return false;
  }
  const bool linked = link != links_.end();
  const auto name = formats::split_sample_name(entry.name);
  if (!(linked || entry.type == formats::TarType::regular) || formats::is_metadata_name(entry.name) ||
      is_stray_name(entry.name) || !name || name->extension.empty()) {
    ++ignored_;
    return false;
  }
  if (entry.facts.has(formats::TarFact::sparse)) {
    fail(ErrorCode::unsupported, entry.header_offset,
         fmt::format("'{}' is stored as a sparse file; pack it again without --sparse", entry.name));
  }
  formats::TarEntry member = entry;
  if (linked) {
    member.type = formats::TarType::regular;
    member.data_offset = link->second.offset;
    member.size = link->second.size;
  }
  add(member);
  if (lower_case(name->extension) != kLabelExtension) return false;
  label_reader_.start();
  if (linked) read_linked_label(link->second);
  return !linked;
}

void TarSamples::finding(const formats::TarFinding& finding) {
  if (finding.fault == formats::TarFault::short_end) return;
  if (finding.fault == formats::TarFault::missing_end) {
    lacks_end_ = true;
    return;
  }
  fail(ErrorCode::corrupt, finding.offset, finding.text);
}

void TarSamples::finish() {
  if (auto last = grouper_.finish()) give(std::move(*last));
}

void TarSamples::fail(ErrorCode code, std::uint64_t offset, const std::string& text) const {
  throw Error(code,
              fmt::format("shard '{}' cannot be read, at byte {}: {}; `shardctl verify` tells all that is wrong with a "
                          "tar",
                          name_, offset, text),
              name_, offset);
}

void TarSamples::add(const formats::TarEntry& member) {
  if (auto done = grouper_.add(member)) {
    give(std::move(*done));
    members_ = 0;
  }
  if (++members_ > kMostMembers) {
    fail(ErrorCode::unsupported, member.header_offset,
         fmt::format("more than {} members in a row share the key of '{}'; is this a tar of samples?", kMostMembers,
                     member.name));
  }
}

void TarSamples::read_linked_label(const LinkedContent& content) {
  std::vector<std::byte> bytes(std::min(content.size, kLabelRead));
  bytes.resize(tar_.read_at(content.offset, bytes));
  label_reader_.add(bytes);
  label_ = label_reader_.label();
}

void TarSamples::give(formats::Sample&& found) {
  formats::MovedSample sample;
  sample.source_key = std::move(found.key);
  sample.label = std::exchange(label_, std::nullopt);
  for (formats::SampleMember& member : found.members) {
    sample.members.push_back({std::move(member.extension), member.offset, member.size, std::nullopt});
  }
  on_sample_(std::move(sample));
}

constexpr unsigned kFewestReaders = 8;         // on a slow source one waits most of the time
constexpr std::size_t kLongestExtension = 60;  // leaves a key room for a hash and a mark

/// Where in its tar the sample starts, for messages.
std::uint64_t first_offset(const formats::MovedSample& sample) {
  std::uint64_t first = sample.members.front().offset;
  for (const formats::MovedMember& member : sample.members) first = std::min(first, member.offset);
  return first;
}

}  // namespace

void SampleGatherer::run(unsigned threads) {
  std::uint64_t bytes = 0;
  for (const ReshardInput& input : inputs_.tars) bytes += input.tar_bytes();
  ctx_.progress().start("look for samples", inputs_.tars.size(), bytes);
  for_each_shard(inputs_.tars.size(), std::max(threads, kFewestReaders), ctx_, [this](std::size_t input, std::size_t) {
    if (!read_index(input)) read_headers(input);
    ++ctx_.progress().items;
  });
  table_.close();
  if (found_ > 0) return;
  throw Error(ErrorCode::not_found, fmt::format("there is no sample in {}; `shardctl ls` shows what there is",
                                                format_count(inputs_.tars.size(), "input")));
}

/// False when there is no index that can be used.
bool SampleGatherer::read_index(std::size_t input) {
  const ReshardInput& tar = inputs_.tars[input];
  const std::string path = io::join_path(io::parent_folder(tar.path), formats::shard_index_path(tar.identity.name));
  if (tar.unpacked || !inputs_.files->exists(path)) return false;
  Gathered gathered(table_);
  formats::ShardIndexVisitor visitor;
  visitor.sample = [&](formats::IndexSample&& line) {
    formats::MovedSample sample;
    sample.input = input;
    sample.source_key = std::move(line.key);
    sample.label = line.label;
    sample.path = std::move(line.path);
    for (formats::IndexMember& member : line.members) {
      sample.members.push_back({std::move(member.extension), member.offset, member.size, member.xxh3});
    }
    keep(std::move(sample), gathered);
    if (gathered.found % 1024 == 0) ctx_.throw_if_stopped();
  };
  try {
    const auto source = inputs_.files->open(path);
    if (formats::read_shard_summary(*source, path).bytes != tar.tar_bytes()) return false;
    formats::read_shard_index(*source, path, visitor);
  } catch (const Error& error) {
    if (error.path() != path || (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported)) throw;
    ctx_.warn("index_unusable", fmt::format("{}; the tar was read instead", error.what()));
    return false;
  }
  take(input, std::move(gathered));
  ctx_.progress().bytes.fetch_add(tar.tar_bytes(), std::memory_order_relaxed);
  return true;
}

void SampleGatherer::read_headers(std::size_t input) {
  const ReshardInput& tar = inputs_.tars[input];
  const auto source = inputs_.files->open(tar.tar());
  std::map<std::uint64_t, LinkedContent> links;
  while (true) {
    Gathered gathered(table_);
    TarSamples samples(*source, tar.path, links, [&](formats::MovedSample&& sample) {
      sample.input = input;
      keep(std::move(sample), gathered);
    });
    catalog::scan_shard(*source, samples, ctx_);
    if (!samples.needs_links()) {
      samples.finish();
      gathered.ignored += samples.ignored();
      gathered.lacks_end = samples.lacks_end();
      return take(input, std::move(gathered));
    }
    links = resolve_hard_links(*source, tar.path, ctx_);
  }
}

void SampleGatherer::take(std::size_t input, Gathered&& gathered) {
  if (gathered.lacks_end) {
    ctx_.warn(
        "end_of_archive_missing",
        fmt::format("shard '{}' has no end-of-archive blocks: if it was cut off, the members after that are missing",
                    inputs_.tars[input].path));
  }
  found_ += gathered.found;
  ignored_ += gathered.ignored;
  table_.take(input, std::move(gathered.batch));
}

void SampleGatherer::keep(formats::MovedSample&& sample, Gathered& gathered) const {
  gathered.ignored +=
      std::erase_if(sample.members, [](const formats::MovedMember& member) { return member.extension.empty(); });
  if (sample.members.empty()) return;
  if (is_stray_name(sample.source_key)) {
    gathered.ignored += sample.members.size();
    return;
  }
  ++gathered.found;
  if (!filter_.keeps(sample)) return;
  settle_members(sample);
  std::size_t longest = 0;
  for (const formats::MovedMember& member : sample.members) longest = std::max(longest, member.extension.size());
  sample.key = formats::portable_moved_key(sample.source_key, formats::kTarNameLimit - 1 - longest);
  gathered.batch.add(sample);
}

/// Output extensions in output order, checked.
void SampleGatherer::settle_members(formats::MovedSample& sample) const {
  const std::uint64_t offset = first_offset(sample);
  const auto fail = [&](ErrorCode code, const std::string& text) {
    const std::string& path = inputs_.tars[sample.input].path;
    throw Error(code, fmt::format("sample '{}' of shard '{}', at byte {}: {}", sample.source_key, path, offset, text),
                path, offset);
  };
  for (formats::MovedMember& member : sample.members) {
    member.extension = extensions_(member.extension);
    if (member.extension.size() > kLongestExtension) {
      fail(ErrorCode::unsupported,
           fmt::format("the extension '{}' is longer than {} bytes; give it another with --rename", member.extension,
                       kLongestExtension));
    }
    if (member.size >= formats::kTarSizeLimit) {
      fail(ErrorCode::unsupported,
           fmt::format("its member '{}' has {} bytes; members of portable shards stay below 8 GiB", member.extension,
                       member.size));
    }
  }
  std::ranges::sort(sample.members, {}, &formats::MovedMember::extension);
  const auto twice = std::ranges::adjacent_find(sample.members, {}, &formats::MovedMember::extension);
  if (twice != sample.members.end()) {
    fail(ErrorCode::corrupt, fmt::format("two members have the extension '{}', of which readers keep one or none; "
                                         "leave the sample out with --key, or give one another with --rename",
                                         twice->extension));
  }
}

}  // namespace shardkit::dataset
