#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/input_files.hpp"
#include "bench/machine/cache_state.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::bench {

struct RunOptions;
struct RunResult;

/// Advice of the pipeline (bench/pipeline/pipeline_verdict.hpp) with run's options for the pipeline's; what run has
/// none for is left out. Pure.
std::vector<std::string> in_words_of_run(std::vector<std::string> advice);

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

/// Measures the stages once, each within its share of options.budget, into `result`: reading, what files cost, decoding
/// and augmenting, then all of it as a pipeline. `input` is spread. `cores` may be kept busy. Throws Error{not_found}
/// where there are no samples, or no JPEGs for a preset of such, Error{corrupt} where none of the images that the job
/// is of can be decoded, Error{usage} when no whole one comes in that time.
void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result);

}  // namespace shardkit::bench
