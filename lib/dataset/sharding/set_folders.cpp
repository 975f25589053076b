#include "dataset/sharding/set_folders.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
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

}  // namespace shardkit::dataset
