#include "dataset/sharding/convert_facts.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "formats/plan_file.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

/// The parts of an option's text, which has commas between them; none where the manifest lacks it.
std::vector<std::string_view> option_parts(const formats::Manifest& manifest, const std::string& name) {
  std::vector<std::string_view> parts;
  const auto option = manifest.options.find(name);
  if (option == manifest.options.end()) return parts;
  for (std::string_view text = option->second; !text.empty();) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

bool is_part_of_split(const std::vector<formats::Manifest>& manifests) {
  std::set<std::string_view> given;
  std::set<std::string_view> all;
  for (const formats::Manifest& manifest : manifests) {
    for (const std::string_view name : option_parts(manifest, "set")) given.insert(name);
    for (const std::string_view share : option_parts(manifest, "split")) all.insert(share.substr(0, share.find('=')));
  }
  return !std::ranges::includes(given, all);
}

void add(ConvertFacts& facts, const formats::Manifest& manifest) {
  const auto& options = manifest.options;
  const auto on_bad = options.find("on_bad");
  facts.listed = facts.listed || options.contains("list");
  facts.resized = facts.resized || options.contains("resize");
  facts.noted = facts.noted || options.contains("metadata");
  facts.skipped_bad = facts.skipped_bad || (on_bad != options.end() && on_bad->second == "skip");
  for (const std::string_view suffix : option_parts(manifest, "sidecar")) {
    if (std::ranges::find(facts.sidecars, suffix) == facts.sidecars.end()) facts.sidecars.emplace_back(suffix);
  }
  for (const formats::ManifestClass& item : manifest.classes) {
    facts.labels.emplace(item.name, item.label);
    facts.class_map = facts.class_map || item.name != formats::label_text(item.label);
  }
}

}  // namespace

ConvertFacts convert_facts(const std::vector<formats::Manifest>& manifests) {
  ConvertFacts facts;
  for (const formats::Manifest& manifest : manifests) add(facts, manifest);
  facts.part_of_split = is_part_of_split(manifests);
  return facts;
}

ConvertFacts convert_facts(const catalog::ShardSet& set) {
  if (set.manifest) return convert_facts(std::vector{*set.manifest});
  std::set<std::string> folders;
  for (const catalog::ShardFile& shard : set.shards) folders.insert(io::parent_folder(shard.path));
  std::vector<formats::Manifest> manifests;
  for (const std::string& folder : folders) {
    const std::string path = io::join_path(folder, formats::kManifestName);
    if (set.inputs->exists(path)) manifests.push_back(formats::read_manifest(set.inputs->text(path), path));
  }
  return convert_facts(manifests);
}

}  // namespace shardkit::dataset
