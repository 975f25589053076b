#include "dataset/checks/whole_set.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/checks/expected_shard.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // in names that were not UTF-8

}  // namespace

std::vector<std::string> plans_in(catalog::Inputs& inputs, const std::string& folder) {
  std::vector<std::string> paths;
  while (true) {
    std::string path = io::join_path(folder, formats::plan_path(paths.size()));
    if (!inputs.exists(path)) return paths;
    paths.push_back(std::move(path));
  }
}

std::string advice_for_conflicts(const LabelComparison& labels, const std::string& merge) {
  if (labels.unclear_name.empty()) return merge;
  return fmt::format(
      "class names such as '{}' were not UTF-8 and may be equal for different classes: convert these sources again",
      labels.unclear_name);
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
        if (name.find(kReplacement) != std::string::npos) result.unclear_name = name;
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

}  // namespace shardkit::dataset
