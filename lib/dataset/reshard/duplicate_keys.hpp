#pragma once

#include "core/context.hpp"
#include "dataset/reshard/reshard_inputs.hpp"
#include "dataset/reshard/sample_table.hpp"

namespace shardkit {

/// Makes sure that no two samples of the table have one key. Samples of several tars that share one get a mark each
/// when `mark` says so (SampleTable::mark); otherwise, and within one tar, Error{conflict} names both places. Takes 4
/// bytes a sample while it works.
void settle_duplicate_keys(SampleTable& table, const ReshardInputs& inputs, bool mark, Context& ctx);

}  // namespace shardkit
