#include "dataset/sharding/set_folders.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/error.hpp"
#include "dataset/sharding/part.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/run_file.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {

std::vector<std::string> sets_below(const std::string& folder) {
  std::vector<std::string> sets;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (std::filesystem::exists(at->path() / formats::kStateFolder / formats::plan_name(0), error))
      sets.push_back(at->path());
  }
  std::ranges::sort(sets);
  return sets;
}

void refuse_target_inside(const std::string& target, const std::string& from, std::string_view role) {
  if (!system::is_below(std::filesystem::weakly_canonical(target), std::filesystem::weakly_canonical(from))) return;
  throw Error(ErrorCode::usage, At{target}, "the target '{}' is inside the {} '{}'; choose a folder outside of it",
              target, role, from);
}

bool is_merged(const ShardTarget& target) {
  const std::string path = target.path_of(formats::kManifestName);
  return std::filesystem::exists(path) &&
         formats::read_manifest(io::read_text_file(path), path).plan_hash == to_hex(target.plan().hash());
}

std::optional<std::uint64_t> known_parts(const ShardTarget& target) {
  if (const auto division = target.division()) return division->parts;
  if (const auto planned = target.plan().head().parts) return planned;
  std::map<std::uint64_t, std::uint64_t> there;  // parts, by the count of their division
  const auto consider = [&](const std::optional<Part>& part) {
    if (part) ++there[part->count];
  };
  for (const io::Run& run : io::announced_runs(target.state_path(""))) {
    if (run.plan == to_hex(target.plan().hash())) consider(parse_part_text(run.part));
  }
  for (const auto& entry : std::filesystem::directory_iterator(target.state_path("")))
    consider(parse_part_file_name(entry.path().filename()));
  const auto share = [](const auto& division) {
    return static_cast<double>(division.second) / static_cast<double>(division.first);
  };
  const auto most = std::ranges::max_element(there, {}, share);
  return most == there.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace shardkit::dataset
