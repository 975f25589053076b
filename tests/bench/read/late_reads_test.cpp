#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "bench/read/read_data.hpp"
#include "bench/read/read_work.hpp"
#include "io/read_engine.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

/// Says of all reads but the first `in_time` of a lane that they arrived an hour later.
class LateLane final : public io::ReadLane {
 public:
  LateLane(std::unique_ptr<io::ReadLane> lane, unsigned in_time) : lane_(std::move(lane)), in_time_(in_time) {}

  void submit(const io::ReadRequest& request) override { lane_->submit(request); }
  io::ReadCompletion wait() override {
    io::ReadCompletion done = lane_->wait();
    if (arrived_++ >= in_time_) done.finished += std::chrono::hours(1);
    return done;
  }
  unsigned under_way() const override { return lane_->under_way(); }

 private:
  std::unique_ptr<io::ReadLane> lane_;
  unsigned in_time_;
  unsigned arrived_ = 0;
};

class LateEngine final : public io::ReadEngine {
 public:
  explicit LateEngine(unsigned in_time) : engine_(io::make_read_engine(io::EngineKind::pread, {})), in_time_(in_time) {}

  unsigned depth() const override { return engine_->depth(); }
  std::shared_ptr<const io::ReadFile> open(const std::string& path) const override { return engine_->open(path); }
  std::unique_ptr<io::ReadLane> make_lane(std::size_t most) const override {
    return std::make_unique<LateLane>(engine_->make_lane(most), in_time_);
  }

 private:
  std::unique_ptr<io::ReadEngine> engine_;
  unsigned in_time_;
};

/// What one thread reads of a shard of 20 blocks within a minute, if only the first `in_time` blocks arrive by then.
struct LateRead {
  ReadTally tally;
  bool counted_in_time = false;
  std::size_t warnings = 0;
};

constexpr std::uint64_t kBlock = 512;

LateRead read_late(unsigned in_time) {
  const ShardFolder folder;
  write_shards(folder);
  Context context;
  const InputSet input = find_input({folder.path("a.tar")}, context);
  const LateEngine engine(in_time);
  ReadLimits limits;
  limits.most_seconds = 60;
  ReadOptions options;
  options.block = kBlock;
  const ReadPlan plan{input.files, engine, options, nullptr};
  const auto work = make_work(plan, limits, context);
  LateRead result;
  work->run(*work->prepare(), result.tally, {});
  result.counted_in_time = work->counted_in_time();
  result.warnings = context.warnings().size();
  return result;
}

}  // namespace

TEST_CASE("a read that arrives when the time is over does not count, and its shard is not damaged") {
  const LateRead late = read_late(4);
  CHECK(late.counted_in_time);
  CHECK(late.tally.bytes == 4 * kBlock);
  CHECK(late.tally.latency.count() > 4);  // how long reads took is known of all
  CHECK(late.warnings == 0);
}

TEST_CASE("if nothing arrives in time, what came later counts, with its time") {
  const LateRead late = read_late(0);
  CHECK_FALSE(late.counted_in_time);
  CHECK(late.tally.bytes > 4 * kBlock);
  CHECK(late.tally.samples > 0);
}
