#pragma once

#include <string>

#include "bench/env/environment.hpp"

namespace shardkit {

/// "PCIe 16 GT/s x8, of 16 GT/s x16, node 1": what is known of a link.
std::string link_text(const PcieLink& link);

/// The lines of `iobench env` about what the data lies on.
void add_storage_lines(const Environment& machine, std::string& out);

}  // namespace shardkit
