#pragma once

#include <string>

#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// The result in one line: of pinned memory to the GPU (or what was measured in its place) the best rate of all sizes,
/// its share of the link, then the other kinds. Of several GPUs the slowest. Of a file each way.
std::string transfer_verdict(const TransferResult& result);

/// The fastest row of this kind and direction that is not from a remote node; of several GPUs that of the slowest.
std::optional<double> best_rate(const TransferResult& result, HostMemory kind, CopyDirection direction);

}  // namespace shardkit
