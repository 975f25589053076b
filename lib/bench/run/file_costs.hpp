#pragma once

#include <cstdint>
#include <optional>

#include "bench/input/input_files.hpp"
#include "bench/read/cache_state.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit {

/// What the calls of a loader that opens each image take, in the mean over files.
struct FileCosts {
  std::uint64_t files = 0;
  double open_seconds = 0;
  double stat_seconds = 0;
  double read_seconds = 0;
  double close_seconds = 0;
  /// All of them over reading alone: what shards spare of opening and closing, at the same number of reads under way. A
  /// lower bound, since names and attributes may lie in memory from listing, and shards are read in larger pieces.
  double shards_gain_ratio = 1;

  void describe(FieldVisitor& v);
};

/// Opens, stats, reads and closes files from the end of `input` on `threads` threads for at most `seconds`, from the
/// state of the cache asked for. Empty when the input holds shards, or no file was done in that time.
std::optional<FileCosts> measure_file_costs(const InputSet& input, CacheRequest cache, std::uint64_t threads,
                                            double seconds, Context& context);

}  // namespace shardkit
