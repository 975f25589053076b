#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/reshard/sample_table.hpp"

namespace shardkit::dataset {

/// Makes sure that no two samples of the table have one key. Samples of several tars that share one get a mark each
/// when `mark` says so (SampleTable::mark); otherwise, and within one tar, Error{conflict} names both places. Takes 4
/// bytes a sample while it works.
void settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, bool mark, Context& ctx);

/// What became of a plan that was written.
struct ReshardPlanned {
  std::uint64_t renamed = 0;    ///< samples with another key than in the input
  std::uint64_t oversized = 0;  ///< samples larger than --size
};

/// Writes the plan of one set: `order` cut into shards. `set` is the set's name in a split, else empty. Throws
/// Error{usage} as cut_shards() does, Error{unsupported} for a sample that does not fit into memory.
ReshardPlanned write_reshard_plan(const ReshardOptions& options, const std::string& set, const ReshardInputs& inputs,
                                  const SampleTable& table, const SampleOrder& order, ByteSink& sink, Context& ctx);

}  // namespace shardkit::dataset
