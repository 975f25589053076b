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
#include "formats/moved_sample.hpp"
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

/// Where the content lies that a hard link in a tar stands for.
struct LinkedContent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Link {
  std::string name;
  std::string target;
  std::uint64_t offset;
};

void for_each_entry(ByteSource& tar, const Context& ctx, const std::function<void(const formats::TarEntry&)>& take) {
  formats::TarScanner scanner(tar, [](const formats::TarFinding&) {});
  for (formats::TarEntry entry; scanner.next(entry);) {
    ctx.throw_if_stopped();
    take(entry);
  }
}

/// The contents of a tar's hard links, by the offset of the link's header. GNU tar writes such links for files that
/// share an inode; readers of shards see nothing there. Reads the tar's headers twice; memory grows with the links
/// alone. Throws Error{corrupt} with the place of a link that leads to no file of the tar, or back to itself.
std::map<std::uint64_t, LinkedContent> resolve_hard_links(ByteSource& tar, const std::string& name,
                                                          const Context& ctx) {
  std::vector<Link> links;
  std::map<std::string_view, std::optional<LinkedContent>> contents;  // of what links name
  for_each_entry(tar, ctx, [&](const formats::TarEntry& entry) {
    if (entry.type == formats::TarType::hard_link)
      links.push_back({entry.name, entry.link_target, entry.header_offset});
  });
  for (const Link& link : links) contents.emplace(link.target, std::nullopt);
  for_each_entry(tar, ctx, [&](const formats::TarEntry& entry) {
    const auto found = contents.find(entry.name);
    if (entry.type != formats::TarType::regular || found == contents.end() || found->second) return;
    found->second = LinkedContent{entry.data_offset, entry.size};
  });
  std::map<std::string_view, std::string_view> next;
  for (const Link& link : links) next.emplace(link.name, link.target);

  std::map<std::uint64_t, LinkedContent> resolved;
  for (const Link& link : links) {
    std::string_view target = link.target;
    // A chain without a cycle is no longer than there are links.
    for (std::size_t steps = 0; steps < links.size() && !contents.at(target); ++steps) {
      const auto onward = next.find(target);
      if (onward == next.end()) break;
      target = onward->second;
    }
    const auto content = contents.find(target);
    if (!content->second) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("shard '{}', at byte {}: '{}' is a hard link to '{}', which leads to no file in this tar; "
                      "pack it again without links (tar --hard-dereference)",
                      name, link.offset, link.name, link.target),
          name, link.offset);
    }
    resolved.emplace(link.offset, *content->second);
  }
  return resolved;
}

constexpr std::size_t kMostMembers = 4096;

/// True for names of files that an operating system put beside samples (".DS_Store", "__MACOSX/x"), of hidden ones, and
/// of none: readers disagree about them.
bool is_stray_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.empty() || base.starts_with('.') || name.starts_with("__MACOSX/") ||
         name.find("/__MACOSX/") != std::string_view::npos;
}

constexpr unsigned kFewestReaders = 8;         // on a slow source one waits most of the time
constexpr std::size_t kLongestExtension = 60;  // leaves a key room for a hash and a mark

[[noreturn]] void refuse_tar(ErrorCode code, const std::string& path, std::uint64_t offset, const std::string& text) {
  throw Error(code,
              fmt::format("shard '{}' cannot be read, at byte {}: {}; `shardctl verify` tells all that is wrong with a "
                          "tar",
                          path, offset, text),
              path, offset);
}

/// Makes a link the file that it stands for; false when its content is not known.
bool follow_link(const std::map<std::uint64_t, LinkedContent>& links, formats::TarEntry& entry) {
  const auto link = links.find(entry.header_offset);
  if (link == links.end()) return false;
  entry.type = formats::TarType::regular;
  entry.data_offset = link->second.offset;
  entry.size = link->second.size;
  return true;
}

/// A sample of the tar at `path`, with its key and extensions as they are there, the latter in lower case.
formats::MovedSample moved_sample(ListedSample&& listed, std::size_t input, const std::string& path) {
  if (listed.members.size() > kMostMembers) {
    refuse_tar(ErrorCode::unsupported, path, listed.members.front().offset,
               fmt::format("more than {} members in a row share the key '{}'; is this a tar of samples?", kMostMembers,
                           listed.key));
  }
  formats::MovedSample sample;
  sample.input = input;
  sample.source_key = std::move(listed.key);
  sample.label = listed.label;
  for (ListedMember& member : listed.members) {
    if (!member.plain) {
      refuse_tar(ErrorCode::unsupported, path, member.offset,
                 fmt::format("'{}' is stored as a sparse file; pack it again without --sparse", member.name));
    }
    sample.members.push_back({std::move(member.extension), member.offset, member.size, std::nullopt});
  }
  return sample;
}

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
  const std::string& path = inputs_.tars[input].path;
  const auto source = inputs_.files->open(inputs_.tars[input].tar());
  std::map<std::uint64_t, LinkedContent> links;
  while (true) {
    Gathered gathered(table_);
    bool needs_links = false;
    ListingVisitor visitor;
    visitor.admit = [&](formats::TarEntry& entry) {
      const bool resolved = entry.type == formats::TarType::hard_link && follow_link(links, entry);
      needs_links = needs_links || (entry.type == formats::TarType::hard_link && !resolved);
      const auto name = formats::split_sample_name(entry.name);
      return !is_stray_name(entry.name) && !(name && name->extension.empty());
    };
    visitor.sample = [&](ListedSample&& listed) {
      if (!needs_links) keep(moved_sample(std::move(listed), input, path), gathered);
      return !needs_links;
    };
    visitor.other = [&](formats::TarEntry&& entry) {
      gathered.ignored += entry.type == formats::TarType::directory ? 0 : 1;
    };
    visitor.finding = [&](const formats::TarFinding& finding) {
      refuse_tar(ErrorCode::corrupt, path, finding.offset, finding.text);
    };
    gathered.lacks_end = !list_headers(*source, path, visitor, ctx_);
    if (!needs_links) return take(input, std::move(gathered));
    links = resolve_hard_links(*source, path, ctx_);
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
