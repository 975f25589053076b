#include "dataset/stage/rank_shards.hpp"

#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::dataset {
namespace {

/// One node reads everything, however it is dealt out among its ranks.
bool are_all(const Ranks& ranks) { return ranks.first == 0 && ranks.last + 1 == ranks.world; }

std::vector<std::size_t> all_shards(std::size_t count) {
  std::vector<std::size_t> shards(count);
  std::iota(shards.begin(), shards.end(), 0);
  return shards;
}

/// Shard i is for rank i % world.
std::vector<std::size_t> dealt_in_turn(std::size_t count, const Ranks& ranks) {
  std::vector<std::size_t> shards;
  for (std::size_t shard = 0; shard < count; ++shard) {
    const std::uint64_t rank = shard % ranks.world;
    if (rank >= ranks.first && rank <= ranks.last) shards.push_back(shard);
  }
  return shards;
}

RankShards for_webdataset(std::size_t count, const Ranks& ranks, const std::string& source) {
  if (ranks.last >= count) {
    throw usage_error(
        "rank {} of {} gets no shard: '{}' has {}, and webdataset stops if it finds no samples; {} writes enough",
        ranks.last, ranks.world, source, format_count(count, "shard"),
        remedy::in_text(remedy::reshard_for_ranks({source}, ranks.world)));
  }
  if (are_all(ranks)) return {all_shards(count), {}};
  return {
      dealt_in_turn(count, ranks),
      {{"loader_setting",
        "split_by_node of webdataset picks these shards if the loader gets the names of all shards in this order. With "
        "resampled=True, every rank draws from all shards: then stage all of them"}}};
}

/// floor(samples * rank / world) without the overflow of the product.
std::uint64_t first_sample(std::uint64_t samples, std::uint64_t rank, std::uint64_t world) {
  return samples / world * rank + samples % world * rank / world;
}

RankShards for_dali(const std::vector<std::uint64_t>& samples_per_shard, const Ranks& ranks,
                    const std::string& source) {
  if (samples_per_shard.empty()) {
    throw usage_error(
        "--split dali needs the number of samples in each shard, which only a manifest has; {} "
        "creates one",
        remedy::in_text(remedy::index({source})));
  }
  const auto samples = std::accumulate(samples_per_shard.begin(), samples_per_shard.end(), std::uint64_t{0});
  if (samples < ranks.world) {
    throw usage_error("{} cannot be divided among {}: DALI needs a sample for each", format_count(samples, "sample"),
                      format_count(ranks.world, "rank"));
  }
  if (are_all(ranks)) return {all_shards(samples_per_shard.size()), {}};
  const std::uint64_t begin = first_sample(samples, ranks.first, ranks.world);
  const std::uint64_t end = first_sample(samples, ranks.last + 1, ranks.world);
  RankShards result;
  std::uint64_t start = 0;
  for (std::size_t shard = 0; shard < samples_per_shard.size(); ++shard) {
    const std::uint64_t next = start + samples_per_shard[shard];
    if (std::max(start, begin) < std::min(next, end)) result.shards.push_back(shard);
    start = next;
  }
  result.warnings.push_back(
      {"loader_setting",
       "these shards are enough for readers with stick_to_shard=True: without it, DALI moves each rank to another's "
       "samples in each epoch. DALI opens every path of the set at its start: for a shard that is not staged, give it "
       "the path at the source, and an index for each"});
  return result;
}

RankShards for_hf(std::size_t count, const Ranks& ranks, const std::string& source) {
  if (are_all(ranks)) return {all_shards(count), {}};
  if (count % ranks.world != 0) {
    return {all_shards(count),
            {{"all_shards_needed", fmt::format("{} for {}: Hugging Face datasets assigns whole shards only if their "
                                               "number is a multiple of the ranks. Otherwise every rank opens all of "
                                               "them and skips samples, so all are staged. {} writes a suitable number",
                                               format_count(count, "shard"), format_count(ranks.world, "rank"),
                                               remedy::in_text(remedy::reshard_for_ranks({source}, ranks.world)))}}};
  }
  return {
      dealt_in_turn(count, ranks),
      {{"loader_setting",
        "split_dataset_by_node picks these shards if neither shuffle() nor set_epoch() is called, which "
        "reassign all shards. To shuffle, give each rank its own shards as data_files instead. The library looks for "
        "every path of the set at its start and reads the first samples of the first: for a shard that is not "
        "staged, give it the path at the source"}}};
}

}  // namespace

std::optional<Ranks> parse_ranks(const std::optional<std::string>& rank, std::optional<std::uint64_t> world) {
  if (!rank && !world) return std::nullopt;
  if (!world) throw Error(ErrorCode::usage, "--rank needs --world N, the number of ranks in the whole job");
  if (!rank) throw Error(ErrorCode::usage, "--world needs --rank R, or R-S for the ranks of one node");
  const std::size_t dash = rank->find('-');
  Ranks ranks{0, 0, *world};
  const bool read = parse_number(std::string_view(*rank).substr(0, dash), ranks.first) &&
                    (dash == std::string::npos || parse_number(std::string_view(*rank).substr(dash + 1), ranks.last));
  if (!read) {
    throw usage_error("--rank '{}': expected R, such as 3, or R-S, such as 0-7", *rank);
  }
  if (dash == std::string::npos) ranks.last = ranks.first;
  if (ranks.last < ranks.first) {
    throw usage_error("--rank '{}': the last rank is less than the first", *rank);
  }
  if (ranks.last >= *world) {
    throw usage_error("--rank '{}' of --world {}: ranks count from 0, so the last is {}", *rank, *world, *world - 1);
  }
  return ranks;
}

RankShards shards_of_ranks(std::size_t shards, const std::vector<std::uint64_t>& samples, const Ranks& ranks,
                           RankSplit split, const std::string& source) {
  if (split == RankSplit::webdataset) return for_webdataset(shards, ranks, source);
  return split == RankSplit::dali ? for_dali(samples, ranks, source) : for_hf(shards, ranks, source);
}

}  // namespace shardkit::dataset
