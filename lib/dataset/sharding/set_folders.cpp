#include "dataset/sharding/set_folders.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "dataset/sharding/part.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/run_file.hpp"

namespace shardkit::dataset {

std::vector<std::string> sets_below(io::OutputFiles& files, const std::string& folder) {
  std::vector<std::string> sets;
  for (const std::string& name : files.names_in(folder)) {
    std::string set = io::join_path(folder, name);
    if (files.exists(io::join_path(set, formats::plan_path(0)))) sets.push_back(std::move(set));
  }
  std::ranges::sort(sets);
  return sets;
}

std::optional<std::uint64_t> known_parts(const ShardTarget& target) {
  if (const auto division = target.division()) return division->parts;
  if (const auto planned = target.plan().head().parts) return planned;
  std::map<std::uint64_t, std::uint64_t> there;  // parts, by the count of their division
  const auto consider = [&](const std::optional<Part>& part) {
    if (part) ++there[part->count];
  };
  const std::string state = io::join_path(target.folder(), formats::kStateFolder);
  for (const io::Run& run : target.files().is_local() ? io::announced_runs(state) : std::vector<io::Run>()) {
    if (run.plan == to_hex(target.plan().hash())) consider(parse_part_text(run.part));
  }
  for (const std::string& name : target.files().names_in(target.state_path(""))) consider(parse_part_file_name(name));
  const auto share = [](const auto& division) {
    return static_cast<double>(division.second) / static_cast<double>(division.first);
  };
  const auto most = std::ranges::max_element(there, {}, share);
  return most == there.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace shardkit::dataset
