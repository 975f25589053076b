#include "bench/checkpoint/checkpoint_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kTotalByDefault = kGiB;
constexpr std::uint64_t kGpusOfANode = 8;
constexpr std::uint64_t kMostWriters = 512;
constexpr std::uint64_t kMostBytes = 1ULL << 50U;
constexpr std::uint64_t kBlock = 4096;

// MLPerf Storage 2.0, checkpointing: 105 GiB, 912 GiB and 5.29 TiB.
constexpr std::array<CheckpointModel, 3> kModels{{
    {"llama3-8b", 105 * kGiB, 8},
    {"llama3-70b", 912 * kGiB, 64},
    {"llama3-405b", 5417 * kGiB, 512},
}};

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

const CheckpointModel& find_model(const std::string& name) {
  const auto* found = std::ranges::find(kModels, name, &CheckpointModel::name);
  if (found != kModels.end()) return *found;
  std::string names;
  for (const CheckpointModel& model : kModels) names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  refuse(fmt::format("--model: '{}' is not known; there are {}", name, names));
}

/// Bytes of one rank, from which the size of its file comes.
double bytes_of_rank(const CheckpointWish& wish, std::uint64_t writers) {
  if (!wish.model) return static_cast<double>(wish.bytes.value_or(kTotalByDefault)) / static_cast<double>(writers);
  const CheckpointModel& model = find_model(*wish.model);
  return wish.scale * static_cast<double>(model.bytes) / static_cast<double>(model.ranks);
}

void check(const CheckpointWish& wish, std::uint64_t writers) {
  if (wish.model && wish.bytes)
    refuse("--model and --bytes: give one of them; --scale makes a model's checkpoint smaller");
  if (!wish.model && wish.scale != 1) refuse("--scale is for --model and --job");
  check_scale(wish.scale);
  if (writers == 0 || writers > kMostWriters) refuse(fmt::format("--writers: expected 1 to {}", kMostWriters));
  if (wish.bytes && (*wish.bytes < writers * kBlock || *wish.bytes > kMostBytes)) {
    refuse(fmt::format("--bytes: expected at least 4096 for each writer and at most {}", format_size(kMostBytes)));
  }
}

}  // namespace

std::span<const CheckpointModel> checkpoint_models() { return kModels; }

void check_scale(double scale) {
  if (!(scale > 0) || scale > 1) refuse("--scale: expected more than 0 and at most 1");
}

std::uint64_t CheckpointPlan::bytes() const {
  return std::accumulate(rank_bytes.begin(), rank_bytes.end(), std::uint64_t{0});
}

CheckpointPlan plan_checkpoint(const CheckpointWish& wish) {
  const std::uint64_t of_node = wish.model ? std::min(find_model(*wish.model).ranks, kGpusOfANode) : 1;
  const std::uint64_t writers = wish.writers.value_or(of_node);
  check(wish, writers);
  if (wish.model && writers > find_model(*wish.model).ranks) {
    refuse(fmt::format("--writers: '{}' is written by {} ranks", *wish.model, find_model(*wish.model).ranks));
  }
  const auto blocks = static_cast<std::uint64_t>(std::ceil(bytes_of_rank(wish, writers) / kBlock));
  return {std::vector<std::uint64_t>(writers, std::max<std::uint64_t>(blocks, 1) * kBlock)};
}

}  // namespace shardkit
