#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/read/read.hpp"
#include "core/context.hpp"
#include "stats/latency_histogram.hpp"

namespace shardkit::bench {

/// What listing folders found and took.
struct FolderListing {
  std::vector<std::string> files;   ///< sorted; hidden ones are left out
  stats::LatencyHistogram latency;  ///< of each folder: opened, all of it read, closed
};

/// Lists `roots` and what is below them, one folder after another, as torchvision's walk does; nothing is asked of the
/// files but what the folders say. Links are followed, but not back into a folder that leads to them. Throws
/// Error{not_found, denied, io} for a folder that cannot be listed, Error{cancelled} on a stop.
FolderListing walk_folders(const std::vector<std::string>& roots, Context& context);

/// What one thread's calls took. On a cache line of its own.
struct alignas(64) FolderTally {
  stats::LatencyHistogram open, stat, read, close;
  stats::LatencyHistogram whole;  ///< all four of a file
  std::uint64_t bytes = 0;
  std::uint64_t kernel_reads = 0;
  std::uint64_t asked_bytes = 0;   ///< of the files whose residency was asked, once open and before they were read
  std::uint64_t cached_bytes = 0;  ///< of them
  bool residency_unknown = false;

  void merge(const FolderTally& other);
};

/// Opens, stats, reads and closes files by their whole paths, one after another in each thread, as image loaders do.
class FolderWork {
 public:
  static constexpr std::uint64_t kBlock = 256U << 10U;  ///< bytes per read

  /// `files` outlive it.
  FolderWork(const std::vector<std::string>& files, const ReadOptions& options, Context& context);

  void run(FolderTally& tally, const std::stop_token& stop);

 private:
  void read_file(std::uint64_t index, MutableBytes buffer, FolderTally& tally);

  const std::vector<std::string>& files_;
  std::uint64_t most_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  Context& context_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace shardkit::bench
