#include "dataset/reshard/reshard_inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/shard_scan.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {
namespace {

struct Link {
  std::string name;
  std::string target;
  std::uint64_t offset;
};

class LinkFinder final : public formats::TarHandler {
 public:
  bool entry(const formats::TarEntry& entry) override {
    if (entry.type == formats::TarType::hard_link)
      links.push_back({entry.name, entry.link_target, entry.header_offset});
    return false;
  }
  void finding(const formats::TarFinding&) override {}

  std::vector<Link> links;
};

/// Finds the files among names that links name.
class TargetFinder final : public formats::TarHandler {
 public:
  explicit TargetFinder(const std::vector<Link>& links) {
    for (const Link& link : links) contents.emplace(link.target, std::nullopt);
  }
  bool entry(const formats::TarEntry& entry) override {
    if (entry.type != formats::TarType::regular) return false;
    const auto found = contents.find(entry.name);
    if (found != contents.end() && !found->second) found->second = LinkedContent{entry.data_offset, entry.size};
    return false;
  }
  void finding(const formats::TarFinding&) override {}

  std::map<std::string, std::optional<LinkedContent>, std::less<>> contents;
};

}  // namespace

std::map<std::uint64_t, LinkedContent> resolve_hard_links(ByteSource& tar, const std::string& name, Context& ctx) {
  LinkFinder finder;
  catalog::scan_shard(tar, finder, ctx);
  TargetFinder targets(finder.links);
  catalog::scan_shard(tar, targets, ctx);
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

namespace {

namespace fs = std::filesystem;

/// Collects the class names of several manifests.
class ClassNames {
 public:
  void add(const formats::Manifest& manifest, const std::string& path) {
    std::map<std::uint64_t, std::set<std::string>> here;
    for (const formats::ManifestClass& item : manifest.classes) here[item.label].insert(item.name);
    for (auto& [label, names] : here) {
      Names& known = by_label_[label];
      const bool shared = std::ranges::any_of(names, [&](const auto& name) { return known.names.contains(name); });
      if (!known.names.empty() && !shared) {
        throw Error(ErrorCode::conflict,
                    fmt::format("label {} is '{}' in '{}' but '{}' in '{}': together they would confuse two classes; "
                                "convert one of them again with the --class-map of the other",
                                label, *known.names.begin(), known.manifest, *names.begin(), path),
                    path);
      }
      if (known.names.empty()) known.manifest = path;
      known.names.merge(names);
    }
  }

  std::vector<formats::ManifestClass> all() const {
    std::vector<formats::ManifestClass> classes;
    for (const auto& [label, known] : by_label_) {
      for (const std::string& name : known.names) classes.push_back({name, label, 0});
    }
    return classes;
  }

 private:
  struct Names {
    std::set<std::string> names;  // a class map may give several classes one label
    std::string manifest;         ///< that named it first
  };
  std::map<std::uint64_t, Names> by_label_;
};

/// Of an object its version stands for the time.
formats::PlanInput identity_of(const catalog::ShardFile& shard, catalog::Inputs& files) {
  if (catalog::is_address(shard.path)) {
    const std::string version = files.find(shard.path).value().version;
    return {shard.name, shard.bytes, static_cast<std::int64_t>(xxh3_64(as_bytes(version)) >> 1U)};
  }
  struct stat info {};
  if (::stat(shard.path.c_str(), &info) != 0) throw system_error(errno, "look at", shard.path);
  return {shard.name, static_cast<std::uint64_t>(info.st_size), io::mtime_ns(info)};
}

void refuse_own_output(const std::string& folder, const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    if (fs::weakly_canonical(folder) != fs::weakly_canonical(target)) continue;
    throw Error(ErrorCode::usage,
                fmt::format("'{}' is input and output at once; write to another folder, then remove this one", folder),
                folder);
  }
}

void note_options(const formats::Manifest& manifest, std::map<std::string, std::string>& made_with) {
  for (const char* name : {"list", "metadata", "on_bad", "quality", "resize", "sidecar"}) {
    const auto option = manifest.options.find(name);
    if (option != manifest.options.end()) made_with.insert(*option);
  }
}

}  // namespace

std::map<std::uint64_t, std::vector<std::string>> names_by_label(const std::vector<formats::ManifestClass>& classes) {
  std::map<std::uint64_t, std::vector<std::string>> names;
  for (const formats::ManifestClass& item : classes) names[item.label].push_back(item.name);
  return names;
}

ReshardInputs find_reshard_inputs(const std::vector<std::string>& operands, const std::vector<std::string>& targets,
                                  std::shared_ptr<catalog::Inputs> files) {
  ReshardInputs inputs;
  ClassNames names;
  std::set<std::string> folders;
  const catalog::ShardSet set = catalog::resolve_shards(operands, catalog::FolderTars::all, std::move(files));
  inputs.files = set.inputs;
  for (const catalog::ShardFile& shard : set.shards) {
    inputs.tars.push_back({shard.path, identity_of(shard, *set.inputs), nullptr});
    const std::string folder = io::parent_folder(shard.path);
    if (!folders.insert(folder).second) continue;
    if (!catalog::is_address(folder)) refuse_own_output(folder, targets);
    const std::string path = io::join_path(folder, formats::kManifestName);
    if (!set.inputs->exists(path)) continue;
    const formats::Manifest manifest = formats::read_manifest(set.inputs->text(path), path);
    names.add(manifest, path);
    note_options(manifest, inputs.made_with);
  }
  inputs.classes = names.all();
  return inputs;
}

void unpack_inputs(ReshardInputs& inputs, const std::string& folder, unsigned threads, io::FileSystem& files,
                   Context& ctx) {
  std::vector<ReshardInput*> compressed;
  std::uint64_t packed_bytes = 0;
  for (ReshardInput& input : inputs.tars) {
    if (!input.is_compressed()) continue;
    compressed.push_back(&input);
    packed_bytes += input.identity.bytes;
  }
  if (compressed.empty()) return;
  catalog::require_room_to_unpack(folder, packed_bytes, format_count(compressed.size(), "compressed input"));
  ctx.progress().start("unpack", compressed.size());
  for_each_shard(compressed.size(), threads, ctx, [&](std::size_t at, std::size_t) {
    compressed[at]->unpacked = std::make_unique<catalog::UnpackedTar>(inputs.files->open(compressed[at]->path),
                                                                      compressed[at]->path, folder, files, ctx);
    ++ctx.progress().items;
  });
}

}  // namespace shardkit::dataset
