#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/reshard/sample_order.hpp"
#include "dataset/reshard/sample_table.hpp"

namespace shardkit {

/// What became of a plan that was written.
struct ReshardPlanned {
  std::uint64_t renamed = 0;    ///< samples with another key than in the input
  std::uint64_t oversized = 0;  ///< samples larger than --size
};

/// Writes the plan of one set: `order` cut into shards. `set` is the set's name in a split, else empty. Throws
/// Error{usage} as cut_shards() does, Error{unsupported} for a sample that does not fit into memory.
ReshardPlanned write_reshard_plan(const ReshardOptions& options, const std::string& set, const ReshardInputs& inputs,
                                  const SampleTable& table, const SampleOrder& order, ByteSink& sink, Context& ctx);

}  // namespace shardkit
