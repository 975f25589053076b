// Lets tests in Python hold shards_of_ranks() against the real loaders: one JSON document on standard output,
// {"shards": [...], "warnings": [...]} and exit 0, or {"error": "..."} and exit 1.
//
//   rank_shards_probe SPLIT RANKS WORLD SAMPLES...    (SAMPLES: how many each shard has)

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "dataset/stage/rank_shards.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using nlohmann::json;

namespace {

RankSplit split_of(const std::string& name) {
  const auto& names = kEnumNames<RankSplit>;
  return static_cast<RankSplit>(std::find(names.begin(), names.end(), name) - names.begin());
}

json run(const std::vector<std::string>& words) {
  std::vector<std::uint64_t> samples;
  for (std::size_t i = 3; i < words.size(); ++i) samples.push_back(std::stoull(words[i]));
  const auto ranks = parse_ranks(words.at(1), std::stoull(words.at(2)));
  const RankShards found = shards_of_ranks(samples.size(), samples, ranks.value(), split_of(words[0]));
  json warnings = json::array();
  for (const Finding& warning : found.warnings) warnings.push_back(warning.code);
  return {{"shards", found.shards}, {"warnings", warnings}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::cout << run(std::vector<std::string>(argv + 1, argv + argc)).dump() << '\n';
    return 0;
  } catch (const Error& error) {
    std::cout << json{{"error", error.what()}}.dump() << '\n';
    return 1;
  }
}
