#include "dataset/reshard/hard_links.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

struct Link {
  std::string name;
  std::string target;
  std::uint64_t offset;
};

class LinkFinder final : public TarHandler {
 public:
  bool entry(const TarEntry& entry) override {
    if (entry.type == TarType::hard_link) links.push_back({entry.name, entry.link_target, entry.header_offset});
    return false;
  }
  void finding(const TarFinding&) override {}

  std::vector<Link> links;
};

/// Finds the files among names that links name.
class TargetFinder final : public TarHandler {
 public:
  explicit TargetFinder(const std::vector<Link>& links) {
    for (const Link& link : links) contents.emplace(link.target, std::nullopt);
  }
  bool entry(const TarEntry& entry) override {
    if (entry.type != TarType::regular) return false;
    const auto found = contents.find(entry.name);
    if (found != contents.end() && !found->second) found->second = LinkedContent{entry.data_offset, entry.size};
    return false;
  }
  void finding(const TarFinding&) override {}

  std::map<std::string, std::optional<LinkedContent>, std::less<>> contents;
};

}  // namespace

std::map<std::uint64_t, LinkedContent> resolve_hard_links(const std::string& tar, const std::string& name,
                                                          Context& ctx) {
  LinkFinder finder;
  scan_shard(tar, finder, ctx);
  TargetFinder targets(finder.links);
  scan_shard(tar, targets, ctx);
  std::map<std::string_view, std::string_view> next;
  for (const Link& link : finder.links) next.emplace(link.name, link.target);

  std::map<std::uint64_t, LinkedContent> resolved;
  for (const Link& link : finder.links) {
    std::string_view target = link.target;
    // A chain without a cycle is no longer than there are links.
    for (std::size_t steps = 0; steps < finder.links.size() && !targets.contents.find(target)->second; ++steps) {
      const auto onward = next.find(target);
      if (onward == next.end()) break;
      target = onward->second;
    }
    const auto content = targets.contents.find(target);
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

}  // namespace shardkit
