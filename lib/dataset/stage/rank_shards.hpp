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

/// Which shards of a set the ranks of one node read, so that no other has to be brought there: --rank of stage.
namespace shardkit::dataset {

/// The loader whose way of dealing out shards is followed.
enum class RankSplit { webdataset, dali, hf };
constexpr auto enum_names(RankSplit) { return std::to_array<std::string_view>({"webdataset", "dali", "hf"}); }

/// The ranks `first` to `last`, both among them, of `world` in all; ranks count from 0.
struct Ranks {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t world = 1;
  bool operator==(const Ranks&) const = default;
};

/// Reads --rank "R" or "R-S" and --world; nothing when neither is given. Throws Error{usage} for one without the other
/// and for ranks that are not there.
std::optional<Ranks> parse_ranks(const std::optional<std::string>& rank, std::optional<std::uint64_t> world);

struct RankShards {
  std::vector<std::size_t> shards;  ///< their numbers in the set, ascending
  std::vector<Warning> warnings;    ///< what the loader needs, so that it reads these shards and no others
};

/// The shards whose samples these ranks read, in every epoch. `samples_per_shard` has one number for each shard of the
/// set, in the order in which the loader is given them: sorted by name, as the manifest lists them. The loader has to
/// be given the whole set, not what is staged of it, or it divides again what was divided.
///
/// webdataset (split_by_node of 0.2.111 and 1.0.2): shard i goes to rank i % world; shuffling comes after that.
///
/// dali (1.53, fn.readers.webdataset with stick_to_shard=True; start_index in its loader.cc): rank r reads the samples
/// from floor(N*r/world) to floor(N*(r+1)/world) of all N, so two ranks may share a shard. It counts as the manifest
/// does, unless it is told to skip samples that lack a component. With stick_to_shard=False ranks move on in each epoch
/// and read everything: a warning says so.
///
/// hf (datasets 5.2, split_dataset_by_node of a streamed set): shard i goes to rank i % world when the shards
/// are a multiple of the ranks, of a set that is neither shuffled nor given an epoch: a warning says so. Otherwise
/// every rank opens all shards and skips samples: all of them, and a warning.
///
/// `source` is where the shards lie, for the command that messages advise.
///
/// Throws Error{usage} when a rank would get nothing to read, upon which the loader stops or waits for ever.
RankShards shards_of_ranks(const std::vector<std::uint64_t>& samples_per_shard, const Ranks& ranks, RankSplit split,
                           const std::string& source = "IN");

}  // namespace shardkit::dataset
