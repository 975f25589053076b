#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/sharding/sample_source.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "formats/plan_file.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit {

/// Where a ShardJob reads and writes.
struct ShardJobSetup {
  const PlanReader& plan;
  SampleSource& source;
  std::string target;  ///< folder; its .shardkit folder is there
  unsigned cores = 1;
  bool md5 = false;  ///< keep each shard's MD5, too
};

/// What a job did. Read, write and sync seconds are summed over threads, which overlap.
struct ShardJobReport {
  double read_seconds = 0;
  double write_seconds = 0;
  double sync_seconds = 0;
  unsigned in_flight = 0;  ///< reads in flight at the most
};

/// Writes some shards of a plan.
///
/// Workers take runs of samples in shard order, read each straight to its place in a tar-shaped buffer, and hand
/// the buffer to its shard's writer; a publisher thread syncs and renames finished shards meanwhile. Many reads are in
/// flight when the source is slow (AdaptiveWorkers), a few shards are open at a time, and buffers stay within 96 MiB.
class ShardJob {
 public:
  ShardJob(const ShardJobSetup& setup, FileSystem& files, Context& ctx);

  /// Writes `shards`; returns when all of them are durable. The first failure ends the job; shards already published
  /// stay, temporaries go.
  ShardJobReport run(const std::vector<std::size_t>& shards);

 private:
  struct OpenShard;
  struct Claim;

  bool step(WaitMeter& meter, const std::stop_token& stop);
  std::optional<Claim> claim(const std::stop_token& stop);
  bool open_next();
  Chunk read_chunk(Claim& claim, WaitMeter& meter);
  void publish_finished(const std::stop_token& stop);
  std::size_t chunk_bytes() const;

  const ShardJobSetup& setup_;
  FileSystem& files_;
  Context& ctx_;
  BufferPool pool_;
  AdaptiveWorkers* workers_ = nullptr;
  BoundedQueue<std::shared_ptr<OpenShard>> finished_;

  std::mutex mutex_;  ///< guards what follows: the dealing of samples
  std::vector<std::size_t> todo_;
  std::size_t next_todo_ = 0;
  std::vector<std::shared_ptr<OpenShard>> open_;
  std::size_t turn_ = 0;

  std::atomic<std::int64_t> write_ns_{0};
  std::atomic<std::int64_t> sync_ns_{0};
};

}  // namespace shardkit
