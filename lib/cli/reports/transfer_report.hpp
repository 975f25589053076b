#pragma once

#include <string>

#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// `iobench transfer` in text: the verdict, a table of rates for each GPU, what pinning costs, and the links.
std::string render_transfer(const TransferResult& result, bool colour);

}  // namespace shardkit
