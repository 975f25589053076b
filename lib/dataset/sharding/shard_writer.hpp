#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "dataset/sharding/bad_files.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/file_system.hpp"
#include "sync/adaptive_workers.hpp"

/// The seam between where samples come from (files for convert, other shards for reshard) and the shards they go to.
namespace shardkit::dataset {

/// One sample on its way. Used by one thread at a time, but not by the same all along.
struct PendingSample {
  /// Bytes that it takes in its tar at the most.
  std::size_t tar_bytes = 0;
  /// Writes headers, contents and padding to the front of `out`, which has `tar_bytes`. The members' offsets count from
  /// there; the sample ends with the padding of the last. Blocking reads are timed by `meter`. Throws Error where there
  /// is no sample, BadSample for files that are bad.
  std::function<formats::IndexSample(MutableBytes out, sync::WaitMeter& meter)> read;
  /// What the index names when the sample is left out.
  std::function<std::string()> path;
};

/// Gives the samples of one shard of the plan, in order; empty after the last one. One thread at a time.
using NextSample = std::function<std::optional<PendingSample>()>;

/// Where samples come from. Thread-safe; outlives what it gave.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual NextSample open(std::size_t shard) = 0;
  /// Why a sample that failed so is left out, as indexes say it; empty: it is not, and the job fails. Not asked about a
  /// BadSample.
  virtual std::optional<std::string> reason_left_out(const Error& /*error*/) const { return std::nullopt; }
  /// Files of a shard that its plan may be amended by, and that are written as they are now.
  virtual std::vector<BadFile> corrected(std::size_t /*shard*/) const { return {}; }
  /// Nanoseconds that all threads together spent reading.
  std::int64_t read_ns() const { return read_ns_; }

 protected:
  /// Does a blocking read, timed for read_ns() and by `meter`.
  void timed(sync::WaitMeter& meter, const std::function<void()>& read);
  /// Completes the member whose record starts at `at` of a sample's room and whose content, of `size` bytes, stands in
  /// its place: writes header and padding.
  static formats::IndexMember finish_member(MutableBytes room, std::uint64_t at, std::string_view key,
                                            const std::string& extension, std::uint64_t size);

 private:
  std::atomic<std::int64_t> read_ns_{0};
};

/// Where write_shards() reads and writes.
struct ShardWriting {
  const formats::PlanReader& plan;
  SampleSource& source;
  std::string target;  ///< folder; its .shardkit folder is there
  unsigned cores = 1;
  bool md5 = false;                     ///< keep each shard's MD5, too
  std::uint64_t may_skip = UINT64_MAX;  ///< samples of BadState::left_out; more of them are BadState::open
};

/// What write_shards() did. Read, write and sync seconds are summed over threads, which overlap.
struct ShardsWritten {
  /// Of the shards, in the order they were asked for; empty: bad files keep it from being finished.
  std::vector<std::optional<formats::ShardSummary>> summaries;
  BadFiles bad = {};
  double read_seconds = 0;
  double write_seconds = 0;
  double sync_seconds = 0;
  unsigned in_flight = 0;  ///< reads in flight at the most
};

/// Writes `shards` of a plan; returns when all of them are durable, but for those with a file that is BadState::open:
/// of these all samples are read, to find all such files, and only the list of them is kept. The first other failure
/// ends the work; shards already published stay, temporary files go.
///
/// Workers take runs of samples in shard order, read each straight to its place in a tar-shaped buffer, and hand
/// the buffer to its shard's writer; a publisher thread syncs and renames finished shards meanwhile. Many reads are in
/// flight when the source is slow (AdaptiveWorkers), a few shards are open at a time, and buffers stay within 96 MiB.
ShardsWritten write_shards(const ShardWriting& setup, const std::vector<std::size_t>& shards, io::FileSystem& files,
                           Context& ctx);

}  // namespace shardkit::dataset
