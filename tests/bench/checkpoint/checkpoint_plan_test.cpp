#include <doctest/doctest.h>

#include "bench/checkpoint/checkpoint.hpp"
#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

CheckpointOptions wish(std::optional<std::string> preset, std::optional<std::uint64_t> bytes,
                       std::optional<std::uint64_t> writers) {
  CheckpointOptions options;
  options.preset = std::move(preset);
  options.bytes = bytes;
  options.threads = writers;
  return options;
}

std::string refusal(const CheckpointOptions& options) {
  try {
    plan_checkpoint(options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a checkpoint without a model is 1 GiB by one writer") {
  const CheckpointPlan plan = plan_checkpoint({});
  CHECK(plan.writers == 1);
  CHECK(plan.rank_bytes == 1U << 30U);
}

TEST_CASE("writers share the bytes in whole blocks of 4096") {
  const CheckpointPlan plan = plan_checkpoint(wish({}, 30'000, 3));
  CHECK(plan.rank_bytes == 12'288);  // 10,000 rounded up
  CHECK(plan.bytes() == 36'864);
}

TEST_CASE("of a model each of a node's 8 ranks writes its share: 105 GiB / 8 ranks, 912 GiB / 64, 5.29 TiB / 512") {
  constexpr double kGiB = 1ULL << 30U;
  for (const auto& [model, gib] :
       {std::pair{"llama3-8b", 13.125}, {"llama3-70b", 14.25}, {"llama3-405b", 10.58}, {"llama3-1t", 18}}) {
    const CheckpointPlan plan = plan_checkpoint(wish(model, {}, {}));
    CHECK(plan.writers == 8);
    CHECK(static_cast<double>(plan.rank_bytes) / kGiB == doctest::Approx(gib).epsilon(1e-4));
  }
  CHECK(plan_checkpoint(wish("llama3-8b", 1ULL << 30U, {})).bytes() == 1ULL << 30U);  // by its 8 ranks
  CHECK(plan_checkpoint(wish("llama3-70b", {}, 2)).writers == 2);
}

TEST_CASE("wishes that contradict themselves say which option to change") {
  CHECK(refusal(wish("llama4", {}, {})).find("llama3-8b, llama3-70b, llama3-405b, llama3-1t") != std::string::npos);
  CHECK(refusal(wish("llama3-8b", {}, 9)).find("8 ranks") != std::string::npos);
  CHECK(refusal(wish("llama3-8b", 4096, {})).find("--bytes") != std::string::npos);
  CHECK(refusal(wish({}, ~0ULL, 1)).find("--bytes") != std::string::npos);
}
