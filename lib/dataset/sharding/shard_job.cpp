#include "dataset/sharding/shard_job.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "formats/tar_header.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kMemory = 96U * 1024U * 1024U;
constexpr std::size_t kSmallestChunk = 64U * 1024U;
constexpr std::size_t kLargestChunk = 1024U * 1024U;
constexpr unsigned kFewestInFlight = 8;
constexpr unsigned kDescriptorsPerRead = 2;  // the file, and the wait meter's

std::int64_t since(std::chrono::steady_clock::time_point start) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

double to_seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace

/// A shard that is being dealt out and written.
struct ShardJob::OpenShard {
  OpenShard(io::FileSystem& files, const ShardJobSetup& setup, std::size_t shard, BufferPool& pool)
      : samples(setup.source.open(shard)),
        writer(files, setup.target, setup.plan.shard_name(shard), to_hex(setup.plan.hash()), pool, setup.md5),
        next(samples->next()) {}

  std::unique_ptr<ShardSamples> samples;
  ShardWriter writer;
  std::unique_ptr<PendingSample> next;  ///< the first sample not yet dealt; null after the last
  std::uint64_t chunks = 0;
};

/// Samples that one worker turns into a chunk.
struct ShardJob::Claim {
  std::shared_ptr<OpenShard> shard;
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<PendingSample>> samples;
  Chunk chunk;
};

ShardJob::ShardJob(const ShardJobSetup& setup, io::FileSystem& files, Context& ctx)
    : setup_(setup), files_(files), ctx_(ctx), pool_(kMemory), finished_(16) {}

ShardJobReport ShardJob::run(const std::vector<std::size_t>& shards) {
  todo_ = shards;
  sync::TaskGroup publisher(ctx_.stop_token());
  sync::AdaptiveWorkers workers({setup_.cores, kFewestInFlight, system::most_reads_in_flight(kDescriptorsPerRead)},
                                publisher.stop_token());
  workers_ = &workers;
  publisher.spawn([this](const std::stop_token& stop) { publish_finished(stop); });
  workers.run([this](sync::WaitMeter& meter, const std::stop_token& stop) { return step(meter, stop); });
  finished_.close();
  publisher.wait();
  ctx_.throw_if_stopped();
  return {to_seconds(setup_.source.read_ns()), to_seconds(write_ns_), to_seconds(sync_ns_), workers.in_flight()};
}

bool ShardJob::step(sync::WaitMeter& meter, const std::stop_token& stop) {
  std::optional<Claim> work = claim(stop);
  if (!work) return false;
  Chunk chunk = read_chunk(*work, meter);
  ctx_.progress().items += work->samples.size();
  ctx_.progress().bytes += chunk.used;
  const auto start = std::chrono::steady_clock::now();
  const bool complete = work->shard->writer.submit(work->number, std::move(chunk));
  write_ns_ += since(start);
  return !complete || finished_.push(std::move(work->shard), 1, stop);
}

std::size_t ShardJob::chunk_bytes() const {
  // A quarter of the memory is being read into; the rest waits for its turn to be written.
  return std::clamp<std::size_t>(kMemory / 4 / std::max(workers_->in_flight(), 1U), kSmallestChunk, kLargestChunk);
}

std::optional<ShardJob::Claim> ShardJob::claim(const std::stop_token& stop) {
  const std::scoped_lock lock(mutex_);
  // Two cores write two files at a time, as fast as the page cache takes them; more than eight gain nothing.
  const std::size_t wanted_open = std::min(setup_.cores, 8U);
  while (open_.size() < wanted_open && open_next()) {
  }
  if (open_.empty()) return std::nullopt;
  turn_ = (turn_ + 1) % open_.size();
  Claim claim{open_[turn_], open_[turn_]->chunks++, {}, {}};
  OpenShard& shard = *claim.shard;
  std::size_t bytes = 0;
  const std::size_t limit = chunk_bytes();
  while (shard.next && (bytes == 0 || bytes < limit)) {
    const std::size_t sample_bytes = shard.next->tar_bytes();
    if (bytes > 0 && bytes + sample_bytes > kLargestChunk) break;
    bytes += sample_bytes;
    claim.samples.push_back(std::move(shard.next));
    shard.next = shard.samples->next();
  }
  claim.chunk.last = !shard.next;
  if (claim.chunk.last) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(turn_));
  std::optional<Buffer> buffer = pool_.take(bytes, stop);
  if (!buffer) return std::nullopt;
  claim.chunk.buffer = std::move(*buffer);
  return claim;
}

bool ShardJob::open_next() {
  if (next_todo_ == todo_.size()) return false;
  open_.push_back(std::make_shared<OpenShard>(files_, setup_, todo_[next_todo_++], pool_));
  return true;
}

Chunk ShardJob::read_chunk(Claim& claim, sync::WaitMeter& meter) {
  Chunk chunk = std::move(claim.chunk);
  const MutableBytes room = chunk.buffer.bytes();
  for (const auto& pending : claim.samples) {
    Result<formats::IndexSample> sample = pending->read(room.subspan(chunk.used, pending->tar_bytes()), meter);
    if (sample) {
      const formats::IndexMember& last = sample->members.back();
      const std::size_t taken = last.offset + formats::tar_padded(last.size);
      for (formats::IndexMember& member : sample->members) member.offset += chunk.used;
      chunk.entries.emplace_back(std::move(*sample));
      chunk.used += taken;
    } else if (setup_.source.leaves_out(sample.error())) {
      chunk.entries.emplace_back(formats::IndexSkip{pending->path(), sample.error().what()});
    } else {
      throw Error(sample.error());
    }
  }
  return chunk;
}

void ShardJob::publish_finished(const std::stop_token& stop) {
  while (std::optional<std::shared_ptr<OpenShard>> shard = finished_.pop(stop)) {
    const auto start = std::chrono::steady_clock::now();
    (*shard)->writer.publish();
    sync_ns_ += since(start);
  }
}

}  // namespace shardkit::dataset
