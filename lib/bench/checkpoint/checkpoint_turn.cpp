#include "bench/checkpoint/checkpoint_turn.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/checkpoint/checkpoint_bytes.hpp"
#include "core/error.hpp"
#include "io/raw_writer.hpp"
#include "sync/task_group.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

/// What one rank does. Everything that training would have before the checkpoint begins is made by the constructor.
class RankWriter {
 public:
  RankWriter(std::uint64_t rank, std::uint64_t bytes, std::uint64_t turn, const CheckpointSettings& settings,
             const std::stop_token& stop)
      : rank_(rank), bytes_(bytes), settings_(settings), state_(rank, turn, std::min(settings.block, bytes)) {
    if (settings.mode != CheckpointMode::background) return;
    snapshot_ = memory_.get(bytes);
    for (std::uint64_t offset = 0; offset < bytes; offset += settings.block) {  // page faults are not timed: trainers
      throw_if(stop);                                                           // keep this memory
      std::memset(snapshot_.data() + offset, 0, std::min(settings.block, bytes - offset));
    }
  }

  void run(const CheckpointFolder& folder, Clock::time_point begin, Context& context, const std::stop_token& stop) {
    begin_ = begin;
    if (!snapshot_.empty()) copy_state(stop);
    RawWriter writer(folder.partial(rank_), settings_.direct);
    write(writer, context, stop);
    written_ = since_begin();
    writer.sync();
    durable_ = since_begin();
  }

  void add_to(CheckpointTimes& times) const {
    times.snapshot = std::max(times.snapshot, copied_);
    times.written = std::max(times.written, written_);
    times.sync = std::max(times.sync, durable_ - written_);
    times.fastest_rank = times.rank_bytes.empty() ? durable_ : std::min(times.fastest_rank, durable_);
    times.slowest_rank = std::max(times.slowest_rank, durable_);
    times.writes.merge(latency_);
    times.rank_bytes.push_back(done_);
  }

 private:
  double since_begin() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  static void throw_if(const std::stop_token& stop) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while writing a checkpoint");
  }

  void copy_state(const std::stop_token& stop) {
    for (std::uint64_t offset = 0; offset < bytes_; offset += settings_.block) {
      throw_if(stop);
      const Bytes piece = state_.at(offset, std::min(settings_.block, bytes_ - offset));
      std::memcpy(snapshot_.data() + offset, piece.data(), piece.size());
    }
    copied_ = since_begin();
  }

  void write(RawWriter& writer, Context& context, const std::stop_token& stop) {
    while (done_ < bytes_ && !(settings_.budget && since_begin() >= *settings_.budget)) {
      throw_if(stop);
      const std::uint64_t length = std::min(settings_.block, bytes_ - done_);
      const Bytes piece = snapshot_.empty() ? state_.at(done_, length) : Bytes(snapshot_).subspan(done_, length);
      const Clock::time_point asked = Clock::now();
      writer.write_at(done_, piece);
      latency_.record(Clock::now() - asked);
      done_ += length;
      context.progress().bytes.fetch_add(length, std::memory_order_relaxed);
    }
  }

  std::uint64_t rank_;
  std::uint64_t bytes_;
  const CheckpointSettings& settings_;
  CheckpointBytes state_;
  AlignedBuffer memory_;
  MutableBytes snapshot_;
  Clock::time_point begin_;
  double copied_ = 0;
  double written_ = 0;
  double durable_ = 0;
  std::uint64_t done_ = 0;
  LatencyHistogram latency_;
};

}  // namespace

std::uint64_t CheckpointTimes::bytes() const {
  return std::accumulate(rank_bytes.begin(), rank_bytes.end(), std::uint64_t{0});
}

CheckpointTimes write_checkpoint(CheckpointFolder& folder, const CheckpointPlan& plan,
                                 const CheckpointSettings& settings, std::uint64_t turn, Context& context) {
  std::vector<std::unique_ptr<RankWriter>> ranks;
  for (std::uint64_t rank = 0; rank < plan.writers(); ++rank) {
    ranks.push_back(std::make_unique<RankWriter>(rank, plan.rank_bytes[rank], turn, settings, context.stop_token()));
  }
  const Clock::time_point begin = Clock::now();
  TaskGroup group(context.stop_token());
  for (const auto& rank : ranks) {
    group.spawn([&folder, &context, &rank = *rank, begin](const std::stop_token& stop) {
      rank.run(folder, begin, context, stop);
    });
  }
  group.wait();
  CheckpointTimes times;
  for (const auto& rank : ranks) rank->add_to(times);
  folder.publish(plan.writers());
  times.durable = std::chrono::duration<double>(Clock::now() - begin).count();
  times.publish = times.durable - times.slowest_rank;
  times.block = settings.mode == CheckpointMode::background ? times.snapshot : times.durable;
  return times;
}

}  // namespace shardkit
