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
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "io/file_system.hpp"
#include "sync/latency_pool.hpp"

/// The interface between sources of samples (files for convert, other shards for reshard) and the shards that they are
/// written to.
namespace shardkit::dataset {

/// One sample while it is written. Used by one thread at a time, but not always the same.
struct PendingSample {
  /// Most bytes that it takes in its tar.
  std::size_t tar_bytes = 0;
  /// Writes headers, contents and padding to the front of `out`, which has `tar_bytes`. The members' offsets count from
  /// there; the sample ends with the padding of the last. `meter` times blocking reads. Throws BadSample if it is to be
  /// left out; another Error ends the job.
  std::function<formats::IndexSample(MutableBytes out, sync::WaitMeter& meter)> read;
  /// Its files that amend the plan: they are written in their current state.
  std::vector<BadFile> corrected = {};
};

/// Returns the samples of one shard of the plan, in order; empty after the last one. For one thread at a time.
using SampleCursor = std::function<std::optional<PendingSample>()>;

/// A source of samples. Thread-safe; outlives the samples it returns.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual SampleCursor open(std::size_t shard) = 0;
  /// Nanoseconds that all threads together spent reading.
  std::int64_t read_ns() const { return read_ns_; }

 protected:
  /// Does a blocking read, timed for read_ns() and by `meter`.
  void timed(sync::WaitMeter& meter, const std::function<void()>& read);
  /// Completes the member whose record starts at `at` of a sample's buffer and whose content, of `size` bytes, is
  /// already in its position: writes header and padding.
  static formats::IndexMember finish_member(MutableBytes room, std::uint64_t at, std::string_view key,
                                            const std::string& extension, std::uint64_t size);

 private:
  std::atomic<std::int64_t> read_ns_{0};
};

/// The inputs and outputs of write_shards().
struct WriteRequest {
  const formats::PlanReader& plan;
  SampleSource& source;
  std::string target;  ///< folder; its .shardkit folder exists
  unsigned cores = 1;
  bool md5 = false;                     ///< also save each shard's MD5
  std::uint64_t may_skip = UINT64_MAX;  ///< samples of BadState::left_out; more of them are BadState::open
  std::function<void()> before_publishing =
      {};  ///< called before each shard gets its name; what it throws ends the work
};

/// Seconds per phase. Scan is wall time; the others are summed over threads and overlap.
struct WritePhases {
  double scan = 0;
  double read = 0;
  double write = 0;
  double sync = 0;

  void describe(FieldList& v);
};

/// The result of write_shards().
struct WriteResult {
  /// Of the shards, in the given order; empty: bad files prevent it from being finished.
  std::vector<std::optional<formats::ShardSummary>> summaries;
  BadFiles bad = {};
  WritePhases seconds = {};  ///< without a scan
  unsigned in_flight = 0;    ///< most reads in flight
};

/// Whether there is a tar with the bytes of `shard`. Throws Error{conflict} for one with others: it is not replaced.
bool has_same_tar(io::OutputFiles& files, const std::string& path, const formats::ManifestShard& shard);

/// Writes `shards` of a plan; returns when all of them are durable, except those with a file that is BadState::open: of
/// these all samples are read, to find all such files, and only the list of them is saved. The first other failure ends
/// the work; published shards stay, temporary files are removed. A tar under the name of a shard is replaced only if an
/// index of the plan describes it.
///
/// Workers take runs of samples in shard order, read each directly to its position in a tar-shaped buffer, which is
/// written to the disk from there (io::LargeFile); a publisher thread syncs and renames finished shards meanwhile. If
/// the source is slow, many reads are in flight (LatencyPool); a few shards are open at a time, and buffers stay within
/// 96 MiB.
WriteResult write_shards(const WriteRequest& setup, const std::vector<std::size_t>& shards, io::OutputFiles& files,
                         Context& context);

}  // namespace shardkit::dataset
