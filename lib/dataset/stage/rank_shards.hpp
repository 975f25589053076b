#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

/// The shards of a set that the ranks of one node read, so that no others need to be copied there: --rank of stage.
namespace shardkit::dataset {

/// The loader whose distribution of shards is followed.
enum class RankSplit { webdataset, dali, hf };
constexpr auto enum_names(RankSplit) { return std::to_array<std::string_view>({"webdataset", "dali", "hf"}); }

/// The ranks `first` to `last`, inclusive, of `world`; ranks count from 0.
struct Ranks {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t world = 1;
  bool operator==(const Ranks&) const = default;
};

/// Reads --rank "R" or "R-S" and --world; nothing if neither is given. Throws Error{usage} for one without the other
/// and for ranks that do not exist.
std::optional<Ranks> parse_ranks(const std::optional<std::string>& rank, std::optional<std::uint64_t> world);

struct RankShards {
  std::vector<std::size_t> shards;  ///< their numbers in the set, ascending
  std::vector<Finding> warnings;    ///< settings with which the loader reads only these shards
};

/// The shards whose samples these ranks read, in every epoch, of `shards` in the order in which the loader gets them.
/// `samples` is the number of samples of each; empty if they are not known. The loader must be given the whole set, not
/// the staged part, or it divides a second time.
///
/// webdataset (split_by_node of 0.2.111 and 1.0.2): shard i goes to rank i % world; shuffling comes after that. With
/// resampled=True every rank draws from all shards: a warning says so.
///
/// dali (1.53, fn.readers.webdataset with stick_to_shard=True; start_index in its loader.cc): rank r reads the samples
/// from floor(N*r/world) to floor(N*(r+1)/world) of all N, so two ranks may share a shard. It counts like the manifest,
/// unless it is configured to skip samples that lack a component. With stick_to_shard=False ranks move on in each epoch
/// and read everything: a warning says so.
///
/// hf (datasets 5.2, split_dataset_by_node of a streamed set): shard i goes to rank i % world when the shards
/// are a multiple of the ranks, of a set that is neither shuffled nor given an epoch: a warning says so. Otherwise
/// every rank opens all shards and skips samples: all of them, and a warning.
///
/// `source` is the folder of the shards, for commands in messages.
///
/// Throws Error{usage} if a rank would get nothing to read: the loader would stop or wait for ever; and for dali if the
/// samples are not known.
RankShards shards_of_ranks(std::size_t shards, const std::vector<std::uint64_t>& samples, const Ranks& ranks,
                           RankSplit split, const std::string& source = "IN");

}  // namespace shardkit::dataset
