#include "dataset/reshard/tar_samples.hpp"

#include <algorithm>
#include <map>
#include <optional>
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

namespace {

constexpr std::size_t kMostMembers = 4096;

/// Where the content of a hard link in a tar is.
struct LinkedContent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Link {
  std::string name;
  std::string target;
  std::uint64_t offset;
};

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

/// The contents of a tar's hard links, by the offset of the link's header. Reads the tar's headers twice.
std::map<std::uint64_t, LinkedContent> resolve_hard_links(ByteSource& tar, const TarReading& reading,
                                                          const Context& context) {
  const std::string& name = reading.path;
  std::vector<Link> links;
  std::map<std::string_view, std::optional<LinkedContent>> contents;  // of the link targets
  for_each_entry(tar, reading, context, [&](const formats::TarEntry& entry) {
    if (entry.type == formats::TarType::hard_link)
      links.push_back({entry.name, entry.link_target, entry.header_offset});
  });
  for (const Link& link : links) contents.emplace(link.target, std::nullopt);
  for_each_entry(tar, reading, context, [&](const formats::TarEntry& entry) {
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
      throw Error(ErrorCode::corrupt, At{name, link.offset},
                  "shard '{}', at byte {}: '{}' is a hard link to '{}', which is not a file in this tar; pack it again "
                  "without links (tar --hard-dereference)",
                  name, link.offset, link.name, link.target);
    }
    resolved.emplace(link.offset, *content->second);
  }
  return resolved;
}

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
      if (entry.type == formats::TarType::hard_link) follow_link(entry);
      return admits(entry);
    };
    listing.sample = [&](formats::IndexSample&& listed) {
      hold(std::move(listed));
      return true;
    };
    listing.other = [&](formats::TarEntry&& entry) {
      found_.ignored += entry.type == formats::TarType::directory ? 0 : 1;
    };
    listing.finding = [&](const formats::TarFinding& finding) { find(finding); };
    found_.lacks_end = !list_headers(tar_, reading_.path, listing, context_);
    finish();
    return found_;
  }

 private:
  /// Turns a link into its file.
  void follow_link(formats::TarEntry& entry) {
    if (links_.empty()) links_ = resolve_hard_links(tar_, reading_, context_);
    const LinkedContent& content = links_.at(entry.header_offset);
    entry.type = formats::TarType::regular;
    entry.data_offset = content.offset;
    entry.size = content.size;
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
    const bool is_whole = is_whole_before_cut(held_->members, before_, tar_.size());
    const bool may_be_cut = found_.cut || (found_.lacks_end && reading_.salvage);
    if (is_whole || behind_end_ || !may_be_cut) return flush();
    found_.cut = true;
    found_.lost_one = true;
  }

  ByteSource& tar_;
  const TarReading& reading_;
  const std::function<void(formats::MovedSample&&)>& take_;
  Context& context_;
  std::map<std::uint64_t, LinkedContent> links_;  ///< after the first hard link
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
