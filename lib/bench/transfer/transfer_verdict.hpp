#pragma once

#include <string>

#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// The result in one line: of pinned memory to the GPU (or what was measured in its place) the best rate of all sizes,
/// its share of the link, then the other kinds. Of several GPUs the slowest. Of a file each way.
std::string transfer_verdict(const TransferResult& result);

}  // namespace shardkit
