#include "dataset/sharding/set_folders.hpp"

#include <algorithm>
#include <filesystem>

#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"

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

}  // namespace shardkit::dataset
