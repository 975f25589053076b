#pragma once

#include "bench/transfer/copy_timer.hpp"
#include "bench/transfer/placement.hpp"
#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// What was timed as a row of the result; its device, share of the link and samples are the caller's to fill in.
TransferRow timed_row(const CopyJob& job, const CopyTiming& timing, const Placement& place);

/// Against the link as it was at its fastest.
void add_wire_share(const TransferDevice& device, TransferRow& row);

}  // namespace shardkit
