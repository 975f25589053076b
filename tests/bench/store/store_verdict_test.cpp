#include <doctest/doctest.h>

#include "bench/read/store_read.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

TEST_CASE("a store with a reserve of a fifth is streamed from, and staging never pays") {
  const StreamingVerdict verdict = judge_streaming(1200, 1000, 60'000);
  CHECK(verdict.verdict == StreamOrStage::stream);
  CHECK(verdict.headroom_ratio == Approx(1.2));
  CHECK(verdict.staging_seconds == Approx(50));
  CHECK(verdict.epoch_seconds == Approx(60));
  CHECK(verdict.epoch_stall_seconds == 0);
  CHECK_FALSE(verdict.break_even_epochs);
  CHECK(verdict.text ==
        "stream: the store delivers 1.20 kB/s, 1.20 times the 1.00 kB/s required; staging would save no time");
}

TEST_CASE("a store that just keeps up has too little reserve, though staging wins no time") {
  const StreamingVerdict verdict = judge_streaming(1100, 1000, 55'000);
  CHECK(verdict.verdict == StreamOrStage::stage);
  CHECK(verdict.epoch_stall_seconds == 0);
  CHECK_FALSE(verdict.break_even_epochs);
  CHECK(verdict.text.find("too little reserve") != std::string::npos);
  CHECK(judge_streaming(1000, 1000, 1).break_even_epochs == std::nullopt);
}

TEST_CASE("a slower store stalls each epoch, and staging has paid once the stalls add up to it") {
  // 1 TB at 500 MB/s: 2000 s to stage; at the required 800 MB/s an epoch is 1250 s, so streaming adds 750 s.
  const StreamingVerdict verdict = judge_streaming(500e6, 800e6, 1'000'000'000'000);
  CHECK(verdict.verdict == StreamOrStage::stage);
  CHECK(verdict.headroom_ratio == Approx(0.625));
  CHECK(verdict.staging_seconds == Approx(2000));
  CHECK(verdict.epoch_stall_seconds == Approx(750));
  REQUIRE(verdict.break_even_epochs);
  CHECK(*verdict.break_even_epochs == Approx(2000.0 / 750));
  CHECK(verdict.text.find("pays off after 2.7 epochs") != std::string::npos);
}
