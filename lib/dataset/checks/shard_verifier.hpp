#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/context.hpp"
#include "dataset/checks/shard_checker.hpp"
#include "formats/shard_index.hpp"

namespace shardkit::dataset {

/// What a shard should be.
struct ExpectedShard {
  const formats::ManifestShard* manifest = nullptr;  ///< its entry; null when there is none
  std::string index_path;                            ///< empty when it has no index
  std::optional<formats::ShardSummary> index;        ///< empty when it has no index that can be read
};

/// Looks up manifest entry and index of every shard of the set, in its order.
std::vector<ExpectedShard> find_expectations(const catalog::ShardSet& set);

/// The whole tar's hash by the manifest, or else by the index; empty when neither has it.
std::optional<Hash128> expected_hash(const ExpectedShard& expected);

/// Reads and checks one shard against itself and against what it should be. `read_all` compares every byte; `contents`
/// look at members' contents on the way. What goes wrong with this shard is noted in `report`; throws Error{cancelled}
/// only.
void verify_shard(catalog::Inputs& inputs, const catalog::ShardFile& shard, const ExpectedShard& expected,
                  bool read_all, const std::vector<std::uint64_t>& labels,
                  const std::vector<std::unique_ptr<MemberWatcher>>& contents, ShardReport& report, Context& ctx);

}  // namespace shardkit::dataset
