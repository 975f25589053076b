#include "dataset/reshard/tar_samples.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_scanner.hpp"

namespace shardkit::dataset {

bool is_stray_name(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.empty() || base.starts_with('.') || name.starts_with("__MACOSX/") ||
         name.find("/__MACOSX/") != std::string_view::npos;
}

std::string unpacked_name(std::string_view name) {
  std::string path = std::filesystem::path(name).relative_path().lexically_normal();
  return path == ".." || path.starts_with("../") ? std::string() : path;
}

namespace {

constexpr std::size_t kMostMembers = 4096;

formats::AfterEnd after_end(const TarReading& reading) {
  return reading.salvage ? formats::AfterEnd::go_on : formats::AfterEnd::stop;
}

void for_each_entry(ByteSource& tar, const TarReading& reading, const Context& context,
                    const std::function<void(const formats::TarEntry&)>& take) {
  formats::TarScanner scanner(
      tar, [](const formats::TarFinding&) {}, after_end(reading));
  for (formats::TarEntry entry; scanner.next(entry);) {
    context.throw_if_stopped();
    take(entry);
  }
}

/// What a link is, by the offset of its header: the member whose content it has; none if it points to no file of the
/// tar.
using LinkedMembers = std::map<std::uint64_t, std::optional<formats::TarEntry>>;

/// Follows the links of a tar as unpacking does: a hard link means the last member of its target's name before it, a
/// symbolic link the last one of the archive. A hard link without a member before it takes a later one.
class LinkResolver {
 public:
  LinkResolver(ByteSource& tar, const TarReading& reading, const Context& context) {
    for_each_entry(tar, reading, context, [&](const formats::TarEntry& entry) {
      if (is_link(entry)) targets_.insert(target_of(entry));
    });
    for_each_entry(tar, reading, context, [&](const formats::TarEntry& entry) { add(entry); });
  }

  LinkedMembers run() const {
    LinkedMembers members;
    for (const auto& [offset, link] : links_) members.emplace(offset, follow(link));
    return members;
  }

  static bool is_link(const formats::TarEntry& entry) {
    return entry.type == formats::TarType::hard_link || entry.type == formats::TarType::symbolic_link;
  }

 private:
  /// Of a name: a file, or the name that has to be looked up at the end of the archive.
  struct Meaning {
    std::optional<formats::TarEntry> file;
    std::string name;
  };

  static std::string target_of(const formats::TarEntry& entry) {
    if (entry.type == formats::TarType::hard_link) return unpacked_name(entry.link_target);
    if (entry.link_target.starts_with('/')) return {};
    return unpacked_name(fmt::format("{}/{}", entry.name.substr(0, entry.name.rfind('/') + 1), entry.link_target));
  }

  void add(const formats::TarEntry& entry) {
    Meaning meaning;
    if (is_link(entry)) {
      meaning.name = target_of(entry);
      const auto before = now_.find(meaning.name);
      if (entry.type == formats::TarType::hard_link && before != now_.end()) meaning = before->second;
      links_.emplace(entry.header_offset, meaning);
    } else if (entry.type == formats::TarType::regular) {
      meaning.file = entry;
    } else {
      return;
    }
    std::string name = unpacked_name(entry.name);
    if (!name.empty() && targets_.contains(name)) now_.insert_or_assign(std::move(name), std::move(meaning));
  }

  std::optional<formats::TarEntry> follow(Meaning link) const {
    // A chain without a cycle is no longer than there are names.
    for (std::size_t steps = 0; !link.file && steps <= now_.size(); ++steps) {
      const auto onward = now_.find(link.name);
      if (onward == now_.end()) break;
      link = onward->second;
    }
    return std::move(link.file);
  }

  std::set<std::string> targets_;
  std::map<std::string, Meaning> now_;  ///< the last member so far of each target's name
  std::map<std::uint64_t, Meaning> links_;
};

[[noreturn]] void refuse_tar(ErrorCode code, const std::string& path, std::uint64_t offset, const std::string& text) {
  throw Error(code, At{path, offset},
              "shard '{}' cannot be read, at byte {}: {}; {} lists everything that is wrong with it", path, offset,
              text, remedy::in_text(remedy::verify({path})));
}

/// A sample of the tar at `path`, with its key and extensions as they are there, the latter in lower case.
formats::MovedSample moved_sample(formats::IndexSample&& listed, std::size_t input, const std::string& path) {
  if (listed.members.size() > kMostMembers) {
    refuse_tar(ErrorCode::unsupported, path, listed.members.front().offset,
               fmt::format("more than {} adjacent members share the key '{}'; is this a tar of samples?", kMostMembers,
                           listed.key));
  }
  for (const formats::IndexMember& member : listed.members) {
    if (member.plain) continue;
    refuse_tar(ErrorCode::unsupported, path, member.offset,
               fmt::format("'{}' is stored as a sparse file; pack it again without --sparse", member.name));
  }
  std::string key = listed.key;
  return {std::move(listed), input, std::move(key)};
}

/// One pass over a tar's headers. Keeps each sample until the next one arrives: the last may be truncated.
class HeaderPass {
 public:
  HeaderPass(ByteSource& tar, const TarReading& reading, const std::function<void(formats::MovedSample&&)>& take,
             Context& context)
      : tar_(tar), reading_(reading), take_(take), context_(context) {}

  TarSamples run() {
    ListingVisitor listing;
    listing.after_end = after_end(reading_);
    listing.admit = [&](formats::TarEntry& entry) {
      behind_end_ = false;
      if (LinkResolver::is_link(entry)) follow_link(entry);
      return admits(entry);
    };
    listing.sample = [&](formats::IndexSample&& listed) {
      hold(std::move(listed));
      return true;
    };
    listing.other = [&](formats::TarEntry&& entry) {
      found_.ignored += entry.type == formats::TarType::directory ? 0 : 1;
      const bool is_nameless = entry.type == formats::TarType::regular && !is_stray_name(entry.name) &&
                               !formats::is_metadata_name(entry.name);
      if (is_nameless && !found_.nameless) found_.nameless = entry.data_offset;
    };
    listing.finding = [&](const formats::TarFinding& finding) { find(finding); };
    found_.lacks_end = !list_headers(tar_, reading_.path, listing, context_);
    finish();
    return found_;
  }

 private:
  /// Turns a link into its file.
  void follow_link(formats::TarEntry& entry) {
    if (links_.empty()) links_ = LinkResolver(tar_, reading_, context_).run();
    const auto link = links_.find(entry.header_offset);
    if (link != links_.end() && link->second) {
      entry.type = formats::TarType::regular;
      entry.data_offset = link->second->data_offset;
      entry.size = link->second->size;
      entry.facts = link->second->facts;
    } else if (formats::split_sample_name(entry.name) && found_.lost_links++ == 0) {
      found_.lost_link = fmt::format("'{}' -> '{}'", entry.name, entry.link_target);
    }
  }

  bool admits(formats::TarEntry& entry) const {
    if (is_stray_name(entry.name)) return false;
    const auto name = formats::split_sample_name(entry.name);
    const bool has_extension = name && !name->extension.empty();
    if (has_extension || reading_.extension.empty()) return has_extension || !name;
    if (entry.name.ends_with('.')) entry.name.pop_back();
    entry.name += "." + reading_.extension;
    return true;
  }

  void find(const formats::TarFinding& finding) {
    using enum formats::TarFault;
    const formats::TarFault fault = finding.fault;
    if (fault != truncated && fault != bad_checksum && fault != bad_size && fault != data_after_end) {
      refuse_tar(ErrorCode::corrupt, reading_.path, finding.offset, finding.text);
    }
    if (!reading_.salvage) {
      const bool joined = fault == data_after_end;
      refuse_tar(ErrorCode::corrupt, reading_.path, finding.offset,
                 fmt::format("{}; {} takes the samples {}", finding.text, remedy::in_text(reading_.remedy(joined)),
                             joined ? "of all of them" : "before that"));
    }
    if (fault == data_after_end) found_.archive_starts.push_back(finding.offset);
    behind_end_ = behind_end_ || fault == data_after_end;
    found_.cut = found_.cut || fault != data_after_end;
  }

  void hold(formats::IndexSample&& listed) {
    if (held_) flush();
    held_ = std::move(listed);
  }

  void flush() {
    before_.clear();
    for (const formats::IndexMember& member : held_->members) {
      before_.push_back(member.extension);
      found_.end = std::max(found_.end, member.offset + member.size);
    }
    take_(moved_sample(std::move(*held_), reading_.input, reading_.path));
    held_.reset();
  }

  void finish() {
    if (!held_) return;
    const bool is_short = tar_.size() < reading_.listed_bytes;
    const bool lacks_members =
        reading_.salvage && found_.lacks_end && (is_short || is_start_of_sample(held_->members, before_));
    const bool is_whole = is_whole_before_cut(held_->members, before_, tar_.size());
    if (is_whole || behind_end_ || !(found_.cut || lacks_members)) return flush();
    found_.cut = true;
    found_.lost_one = true;
  }

  ByteSource& tar_;
  const TarReading& reading_;
  const std::function<void(formats::MovedSample&&)>& take_;
  Context& context_;
  LinkedMembers links_;  ///< after the first link
  TarSamples found_;
  std::optional<formats::IndexSample> held_;
  std::vector<std::string> before_;  ///< extensions of the sample that was kept last
  bool behind_end_ = false;          ///< no member was seen since the end of an archive
};

}  // namespace

TarSamples read_tar_samples(ByteSource& tar, const TarReading& reading,
                            const std::function<void(formats::MovedSample&&)>& take, Context& context) {
  return HeaderPass(tar, reading, take, context).run();
}

}  // namespace shardkit::dataset
