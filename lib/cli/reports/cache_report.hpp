#pragma once

#include <string>

#include "dataset/cache/cache_ls.hpp"

namespace shardkit {

/// `shardctl cache ls` in text: a line for each staged folder, below it its leases and, where asked for, its files;
/// last the totals.
std::string render_cache_ls(const CacheLsResult& result, bool colour);

}  // namespace shardkit
