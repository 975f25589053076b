#include <doctest/doctest.h>

#include "bench/checkpoint/checkpoint.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

CheckpointResult example() {
  CheckpointResult result;
  result.writers = 8;
  result.block = 1U << 20U;
  CheckpointRow sync;
  sync.bytes = 1U << 30U;
  sync.block_seconds = 4;
  sync.durable_seconds = 4;
  sync.share_ratio = 0.0775;
  CheckpointRow background = sync;
  background.mode = CheckpointMode::background;
  background.block_seconds = 0.5;
  background.headroom_ratio = 0.8;
  result.rows = {sync, background};
  return result;
}

bool says(const CheckpointResult& result, const std::string& text) {
  return report_text(answer_checkpoint(result), false).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("the first line is how long training waits") {
  CheckpointResult result = example();
  result.rows[1].headroom_ratio = 1.2;
  CHECK(
      report_text(answer_checkpoint(result), false)
          .starts_with("training waits 4.00 s, 0.50 s with a copy in memory (durable after 4.00 s) for a checkpoint of "
                       "1GiB by 8 writers (1.00 s)\n"));
  CHECK(report_text(answer_checkpoint(result), true).starts_with("\x1b[1mtraining waits"));
}

TEST_CASE("that checkpoints pile up comes before all else") {
  CheckpointResult result = example();
  CHECK(report_text(answer_checkpoint(result), false)
            .starts_with("checkpoints take longer than the time between them: training waits 4.00 s, "));
  result.rows[1].headroom_ratio = 1.2;
  result.drain.emplace().headroom_ratio = 0.9;
  CHECK(report_text(answer_checkpoint(result), false)
            .starts_with("copies of checkpoints take longer than the time between them: training waits "));
}

TEST_CASE("the share of training, and that checkpoints pile up, have a line for each mode") {
  CHECK(says(example(), "sync: checkpoints take 7.8 % of the running time\n"));
  CHECK(says(example(),
             "the time between checkpoints is 0.8 times the time until one is durable: checkpoints cannot keep up\n"));
}

TEST_CASE("shares and room of any size are plain numbers") {
  CheckpointResult result = example();
  result.rows[0].share_ratio = 0.9999999;
  result.rows[1].share_ratio = 1e-9;
  result.rows[1].headroom_ratio = 9.1e-5;
  CHECK(says(result, "sync: checkpoints take 100 % of the running time"));
  CHECK(says(result, "background: checkpoints take less than 0.001 % of the running time"));
  CHECK(says(result, "the time between checkpoints is less than 0.001 times the time"));
  result.rows[1].headroom_ratio = 123;
  CHECK(says(result, "the time between checkpoints is 123 times the time"));
}

TEST_CASE("a drain, what was read back and the fio command follow") {
  CheckpointResult result = example();
  CHECK_FALSE(says(result, "drained"));
  result.drain.emplace();
  result.drain->directory = "/nfs";
  result.drain->drain_seconds = 10;
  result.drain->bytes_per_second = 107e6;
  result.drain->headroom_ratio = 0.5;
  result.read_back = {{"/nfs", 1U << 30U, 2, 537e6, bench::CacheState::cold}};
  CHECK(says(result, "copied to /nfs in 10 s (107 MB/s): slower than the time between checkpoints\n"));
  CHECK(says(result, "read back from /nfs in 2.00 s (537 MB/s, cache cold), all bytes correct\n"));
}
