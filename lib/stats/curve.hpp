#pragma once

#include <cstddef>
#include <span>

/// What a curve of rates says that were measured at rising levels of something: connections, threads, bytes a read.
namespace shardkit {

/// The knee: index of the first level that gives at least 95 % of the best rate. Not for an empty curve.
std::size_t knee_of(std::span<const double> rates);

/// True once more brings nothing: neither of the last two levels is 5 % above the best before it.
bool has_levelled_off(std::span<const double> rates);

}  // namespace shardkit
