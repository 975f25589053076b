#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/read/read.hpp"
#include "core/context.hpp"
#include "stats/latency_histogram.hpp"

/// Files as image loaders read them: opened by their whole paths, one after another in each thread.
namespace shardkit::bench {

/// What the calls of one thread took, or of all. On a cache line of its own.
struct alignas(64) FileCalls {
  stats::LatencyHistogram open, stat, read, close;
  stats::LatencyHistogram whole;  ///< all four of a file
  std::uint64_t bytes = 0;
  std::uint64_t kernel_reads = 0;
  std::uint64_t asked_bytes = 0;   ///< of the files whose residency was asked, once open and before they were read
  std::uint64_t cached_bytes = 0;  ///< of them
  bool residency_unknown = false;

  void merge(const FileCalls& other);
};

/// Opens, stats, reads and closes the first `most` files on `threads` threads, for at most `seconds`; empty: all of
/// them, and for as long as it takes. Adds what the calls took to `calls`. Throws Error{cancelled} on a stop.
Timing time_file_calls(const std::vector<std::string>& files, std::uint64_t threads, std::optional<std::uint64_t> most,
                       std::optional<double> seconds, FileCalls& calls, Context& context);

/// `iobench read --mode imagefolder`: lists the folders of options.paths, then opens, stats, reads and closes each file
/// once, in an order drawn by the seed, and says what each kind of call took. The options are checked. Throws
/// Error{usage} for a path that is no folder, Error{not_found} when they hold no files.
ReadResult read_folders(const ReadOptions& options, Context& context);

}  // namespace shardkit::bench
