#include "dataset/checks/whole_set.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"
#include "staging/stage_journal.hpp"

namespace shardkit::dataset {
namespace {

/// Whether every sample of a shard was left out: then it has only an index.
bool is_left_out(catalog::Inputs& inputs, const std::string& folder, const std::string& shard) {
  const std::string path = io::join_path(folder, formats::shard_index_path(shard));
  if (!inputs.exists(path)) return false;
  try {
    return formats::read_shard_summary(*inputs.open(path), path).samples == 0;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    return false;
  }
}

/// Missing shards of the folder's plans.
std::uint64_t planned_and_missing(const catalog::ShardSet& set, const std::string& folder,
                                  const std::set<std::string_view>& there) {
  std::uint64_t missing = 0;
  for (const std::string& path : plans_in(*set.inputs, folder)) {
    const auto file = set.inputs->open(path);
    const formats::PlanReader plan(*file, path);
    for (std::size_t i = 0; i < plan.shards().size(); ++i) {
      const std::string shard = plan.shard_name(i);
      if (!there.contains(shard) && !is_left_out(*set.inputs, folder, shard)) ++missing;
    }
  }
  return missing;
}

std::optional<std::string> missing_in(const catalog::ShardSet& set, const std::string& folder,
                                      const std::optional<formats::Manifest>& manifest,
                                      const std::set<std::string_view>& there) {
  if (!manifest) {
    const std::uint64_t missing = planned_and_missing(set, folder, there);
    if (missing == 0) return std::nullopt;
    return fmt::format("the convert or reshard into '{}' has not finished: {} of its plan {} missing", folder,
                       format_count(missing, "shard"), missing == 1 ? "is" : "are");
  }
  if (auto unfinished = unfinished_append(*set.inputs, folder, *manifest)) return unfinished;
  const auto missing = missing_shards(*manifest, find_staged_part(*set.inputs, folder), there);
  if (missing.empty()) return std::nullopt;
  return fmt::format("{} listed in the manifest of '{}' {} missing, the first is '{}'",
                     format_count(missing.size(), "shard"), folder, missing.size() == 1 ? "is" : "are",
                     missing.front());
}

}  // namespace

std::optional<StagedPart> find_staged_part(catalog::Inputs& inputs, const std::string& folder) {
  if (catalog::is_address(folder)) return std::nullopt;
  auto marker = staging::find_staged_marker(folder);
  if (!marker || marker->subsets.empty()) return std::nullopt;
  const std::string manifest = inputs.text(io::join_path(folder, formats::kManifestName));
  if (!(marker->manifest == xxh3_128(as_bytes(manifest)))) return std::nullopt;
  StagedPart part{std::move(marker->subsets), {}};
  const std::string journal = io::join_path(folder, staging::kStageJournalPath);
  for (const auto& [name, file] : staging::StageJournal::read(journal).files) part.files.insert(name);
  return part;
}

std::vector<std::string> missing_shards(const formats::Manifest& manifest, const std::optional<StagedPart>& part,
                                        const std::set<std::string_view>& there) {
  std::vector<std::string> missing;
  for (const formats::ManifestShard& shard : manifest.shards) {
    if (there.contains(shard.name) || (part && !part->files.contains(shard.name))) continue;
    missing.push_back(shard.name);
  }
  return missing;
}

std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder) {
  std::vector<std::string> paths;
  while (true) {
    std::string path =
        io::join_path(folder, fmt::format("{}/{}", formats::kStateFolder, formats::plan_name(paths.size())));
    if (!inputs.exists(path)) return paths;
    paths.push_back(std::move(path));
  }
}

std::optional<std::string> unfinished_append(catalog::Inputs& inputs, const std::string& folder,
                                             const formats::Manifest& manifest) {
  const std::vector<std::string> plans = plans_in(inputs, folder);
  if (plans.size() < 2) return std::nullopt;
  const auto file = inputs.open(plans.back());
  if (to_hex(formats::PlanReader(*file, plans.back()).hash()) == manifest.plan_hash) return std::nullopt;
  return fmt::format("a convert --append into '{}' has not finished: run it again", folder);
}

std::optional<std::string> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests) {
  if (!set.of_folder) return std::nullopt;
  std::map<std::string, std::set<std::string_view>> folders;
  for (const catalog::ShardFile& shard : set.shards) folders[io::parent_folder(shard.path)].insert(shard.name);
  for (const auto& [folder, there] : folders) {
    if (auto missing = missing_in(set, folder, manifests.at(folder), there)) return missing;
  }
  return std::nullopt;
}

bool have_same_classes(const catalog::FolderManifests& manifests) {
  const auto& first = manifests.begin()->second;
  const auto class_of = [](const formats::ManifestClass& item) { return std::tie(item.label, item.name); };
  return std::ranges::all_of(manifests, [&](const auto& item) {
    return item.second && std::ranges::equal(item.second->classes, first->classes, {}, class_of, class_of);
  });
}

void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests) {
  if (const auto missing = what_is_missing(set, manifests)) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("{}; finish or repair the set, or give the shards to use one by one, such as 'FOLDER/*.tar'",
                    *missing));
  }
}

}  // namespace shardkit::dataset
