#include "dataset/checks/whole_set.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "catalog/object_location.hpp"
#include "catalog/shard_faults.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"
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
std::uint64_t planned_and_missing(catalog::Inputs& inputs, const std::string& folder,
                                  const std::vector<std::string>& plans, const std::set<std::string_view>& there) {
  std::uint64_t missing = 0;
  for (const std::string& path : plans) {
    const auto file = inputs.open(path);
    const formats::PlanReader plan(*file, path);
    for (std::size_t i = 0; i < plan.shards().size(); ++i) {
      const std::string shard = plan.shard_name(i);
      if (!there.contains(shard) && !is_left_out(inputs, folder, shard)) ++missing;
    }
  }
  return missing;
}

/// Whether a file of the folder's state has such a name.
bool has_state(catalog::Inputs& inputs, const std::string& folder, bool (*is_wanted)(std::string_view name)) {
  const std::string state = io::join_path(folder, formats::kStateFolder);
  if (catalog::is_address(folder)) {
    const catalog::ObjectLocation location = catalog::parse_location(io::join_path(state, ""));
    if (location.kind != catalog::ObjectLocation::Kind::bucket) return false;  // a web server has no listing
    return std::ranges::any_of(inputs.list(location), is_wanted, &io::ObjectInfo::name);
  }
  std::error_code none;
  std::filesystem::directory_iterator at(state, none);
  return std::any_of(at, {}, [&](const auto& entry) { return is_wanted(entry.path().filename().native()); });
}

/// Of a folder without a manifest.
std::optional<Missing> unfinished_plan(catalog::Inputs& inputs, const std::string& folder,
                                       const std::set<std::string_view>& there) {
  const std::vector<std::string> plans = plans_in(inputs, folder);
  const std::uint64_t missing = planned_and_missing(inputs, folder, plans, there);
  if (missing > 0) {
    return Missing{catalog::unfinished("convert or reshard", folder,
                                       fmt::format("{} of its plan {} missing", format_count(missing, "shard"),
                                                   missing == 1 ? "is" : "are")),
                   true};
  }
  if (there.empty() && plans.empty() && has_state(inputs, folder, io::is_run_name))
    return Missing{catalog::unfinished("convert or reshard", folder), true};
  if (!has_state(inputs, folder, formats::is_part_name)) return std::nullopt;
  return Missing{
      fmt::format("the parts of '{}' are not joined: {} does that", folder, remedy::in_text(remedy::merge(folder))),
      true};
}

std::optional<Missing> missing_in(catalog::Inputs& inputs, const std::string& folder,
                                  const std::optional<formats::Manifest>& manifest,
                                  const std::set<std::string_view>& there) {
  if (auto stage = unfinished_stage(folder)) return Missing{std::move(*stage), true};
  if (!manifest && inputs.exists(io::join_path(folder, formats::kUploadRecord)))
    return Missing{catalog::unfinished("upload", folder), true};
  if (!manifest) return unfinished_plan(inputs, folder, there);
  const auto missing = missing_shards(*manifest, find_staged_part(inputs, folder), there);
  if (missing.empty()) return std::nullopt;
  return Missing{catalog::missing_from(folder, missing)};
}

/// The staged folder that a set lies in: its own, or one above it, such as that of train/ and val/.
struct StagedRoot {
  std::string path;
  std::string below;  ///< the set's folder in it; empty, or with a slash at its end
  staging::StageJournal::State journal;

  bool has_files() const {
    const auto first = journal.files.lower_bound(below);
    return first != journal.files.end() && first->first.starts_with(below);
  }
};

std::optional<StagedRoot> staged_root(const std::string& folder) {
  if (catalog::is_address(folder)) return std::nullopt;
  StagedRoot root{std::filesystem::absolute(folder).lexically_normal(), "", {}};
  if (root.path.ends_with('/')) root.path.pop_back();
  for (int up = 0; up <= staging::kDeepestStagedFolder && root.path.size() > 1; ++up) {
    const std::string journal = io::join_path(root.path, staging::kStageJournalPath);
    if (std::filesystem::exists(journal)) {
      root.journal = staging::StageJournal::read(journal);
      return root.below.empty() || root.has_files() ? std::optional(std::move(root)) : std::nullopt;
    }
    root.below = std::filesystem::path(root.path).filename().string() + "/" + root.below;
    root.path = io::parent_folder(root.path);
  }
  return std::nullopt;
}

}  // namespace

std::optional<StagedPart> find_staged_part(catalog::Inputs& inputs, const std::string& folder) {
  const auto root = staged_root(folder);
  auto marker = root ? staging::find_staged_marker(root->path) : std::nullopt;
  if (!marker || marker->subsets.empty()) return std::nullopt;
  const Hash128 manifest = xxh3_128(as_bytes(inputs.text(io::join_path(folder, formats::kManifestName))));
  const auto staged = root->journal.files.find(root->below + formats::kManifestName);
  if (staged == root->journal.files.end() || !(staged->second.hash == manifest)) return std::nullopt;
  StagedPart part{std::move(marker->subsets), {}};
  for (const auto& [name, file] : root->journal.files) {
    if (name.starts_with(root->below)) part.files.insert(name.substr(root->below.size()));
  }
  return part;
}

bool is_staged(const std::string& folder) {
  return !catalog::is_address(folder) && std::filesystem::exists(io::join_path(folder, staging::kStageJournalPath));
}

std::string Missing::with_advice() const {
  return is_unfinished ? text : fmt::format("{}; {}", text, catalog::kRestoreShards);
}

std::optional<std::string> unfinished_stage(const std::string& folder) {
  const auto root = staged_root(folder);
  if (!root || staging::find_staged_marker(root->path)) return std::nullopt;
  return catalog::unfinished("stage", root->path);
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
    std::string path = io::join_path(folder, formats::plan_path(paths.size()));
    if (!inputs.exists(path)) return paths;
    paths.push_back(std::move(path));
  }
}

std::optional<Missing> what_is_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests) {
  if (!set.of_folder) return std::nullopt;
  std::map<std::string, std::set<std::string_view>> folders;
  for (const catalog::ShardFile& shard : set.shards) folders[io::parent_folder(shard.path)].insert(shard.name);
  for (const std::string& folder : set.empty_folders) folders.try_emplace(folder);
  for (const auto& [folder, there] : folders) {
    if (auto missing = missing_in(*set.inputs, folder, manifests.at(folder), there)) return missing;
  }
  return std::nullopt;
}

LabelComparison compare_labels(const catalog::FolderManifests& manifests) {
  struct Names {
    std::set<std::string> names;  // a class map may give several classes one label
    std::string path;             // that named it first
  };
  std::map<std::uint64_t, Names> by_label;
  std::map<std::string, std::pair<std::uint64_t, std::string>> by_name;
  LabelComparison result;
  std::string absent;
  for (const auto& [folder, manifest] : manifests) {
    const std::string path = io::join_path(folder, formats::kManifestName);
    if (!manifest) {
      absent += fmt::format("; '{}' has no manifest", folder);
      continue;
    }
    std::map<std::uint64_t, std::set<std::string>> here;
    for (const formats::ManifestClass& item : manifest->classes) here[item.label].insert(item.name);
    for (auto& [label, names] : here) {
      Names& known = by_label.try_emplace(label, Names{{}, path}).first->second;
      const bool shared = std::ranges::any_of(names, [&](const auto& name) { return known.names.contains(name); });
      if (!known.names.empty() && !shared) {
        result.conflicts.push_back(fmt::format("label {} is '{}' in '{}' but '{}' in '{}'", label, *known.names.begin(),
                                               known.path, *names.begin(), path));
      }
      for (const std::string& name : names) {
        const auto& [first, where] = by_name.try_emplace(name, label, path).first->second;
        if (first == label || (!known.names.empty() && !shared)) continue;
        result.conflicts.push_back(
            fmt::format("class '{}' has label {} in '{}' but {} in '{}'", name, first, where, label, path));
      }
      known.names.merge(names);
    }
  }
  std::string fewer;
  for (const auto& [folder, manifest] : manifests) {
    if (!manifest || manifest->classes.size() == by_name.size()) continue;
    fewer += fmt::format("; '{}' has {} of the {} classes", folder, manifest->classes.size(), by_name.size());
  }
  result.text = !result.conflicts.empty() ? "labels conflict"
                : !absent.empty()         ? "not all labels can be compared"
                : fewer.empty()           ? "the same classes and labels"
                                          : "labels agree";
  result.text += fewer + absent;
  return result;
}

std::map<std::string, std::string> files_left_out(const catalog::ShardSet& set,
                                                  const catalog::FolderManifests& manifests) {
  std::map<std::string, std::string> files;
  const auto skips_none = [](const auto& item) { return item.second && item.second->skipped == 0; };
  if (std::ranges::all_of(manifests, skips_none)) return files;  // counted there: no index has to be read
  const auto note = [&](const formats::IndexSkip& skip) { files.emplace(skip.path, skip.reason); };
  const auto readable = [](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported) throw;
    }
  };
  for (const ExpectedShard& shard : find_expectations(set)) {
    if (!shard.index || shard.index->skipped == 0) continue;
    formats::ShardIndexVisitor visitor;
    visitor.skip = note;
    readable([&] { formats::read_shard_index(*set.inputs->open(shard.index_path), shard.index_path, visitor); });
  }
  for (const auto& [folder, manifest] : manifests) {
    for (const std::string& path : plans_in(*set.inputs, folder)) {
      readable([&] {
        const auto plan = set.inputs->open(path);
        std::ranges::for_each(formats::PlanReader(*plan, path).head().skipped, note);
      });
    }
  }
  return files;
}

namespace {

Error missing_error(const catalog::ShardSet& set, const std::optional<Missing>& missing) {
  if (!missing) {
    const std::string& folder = set.empty_folders.front();
    return Error(ErrorCode::not_found, At{folder}, "folder '{}' contains no *.tar file", folder);
  }
  const std::string others =
      set.shards.empty() ? ""
                         : fmt::format("; or name the shards to use, such as {}", shell_word(set.shards.front().path));
  return Error(ErrorCode::not_found, missing->with_advice() + others);
}

}  // namespace

void refuse_missing(const catalog::ShardSet& set, const catalog::FolderManifests& manifests) {
  const auto missing = what_is_missing(set, manifests);
  if (missing || set.shards.empty()) throw missing_error(set, missing);
}

void refuse_unfinished(const catalog::ShardSet& set, const catalog::FolderManifests& manifests, Context& context) {
  const auto missing = what_is_missing(set, manifests);
  if (set.shards.empty() || (missing && missing->is_unfinished)) throw missing_error(set, missing);
  if (missing) context.warn("shards_missing", "{}", missing->text);
}

}  // namespace shardkit::dataset
