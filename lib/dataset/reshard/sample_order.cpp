#include "dataset/reshard/sample_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "formats/tsv.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kRunKeyBytes = 32U * 1024U * 1024U;
constexpr std::size_t kRunSamples = 1U << 18U;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// A stretch of an order that is sorted, and the key of its next sample.
struct Run {
  std::string key;
  std::size_t next;
  std::size_t end;
};
struct LaterKey {
  bool operator()(const Run& a, const Run& b) const { return std::tie(a.key, a.next) > std::tie(b.key, b.next); }
};

/// Sorts the stretch of `order` from `begin` that fits into memory; returns its end.
std::size_t sort_run(const SampleTable& table, SampleOrder& order, std::size_t begin) {
  std::vector<std::pair<std::string, std::uint32_t>> run;
  std::size_t bytes = 0;
  std::size_t end = begin;
  for (; end < order.size() && bytes < kRunKeyBytes && run.size() < kRunSamples; ++end) {
    run.emplace_back(table.read(order[end]).key, order[end]);
    bytes += sizeof(run.back()) + run.back().first.size();
  }
  std::ranges::sort(run);
  for (std::size_t i = 0; i < run.size(); ++i) order[begin + i] = run[i].second;
  return end;
}

}  // namespace

SampleOrder input_order(const SampleTable& table) {
  SampleOrder order(table.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

SampleDraw::SampleDraw(const std::string& text) {
  if (parse_number(text, count_) && count_ > 0) return;
  if (text.find('.') != std::string::npos && parse_ratio(text, ratio_) && ratio_ > 0 && ratio_ <= 1) return;
  refuse(
      fmt::format("--sample '{}': say a number of samples from 1 up, or a share above 0 with a decimal point, such "
                  "as 0.1",
                  text));
}

std::uint64_t SampleDraw::count(std::uint64_t available) const {
  if (ratio_ == 0) return std::min(count_, available);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(available) * ratio_));
}

SampleOrder draw_samples(const SampleTable& table, SampleOrder order, std::uint64_t count, std::uint64_t seed) {
  if (count >= order.size()) return order;
  // Input order has ascending numbers, which sorting restores.
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(order, middle, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(rank_of(table.record(a).key_hash, seed), a) <
           std::pair(rank_of(table.record(b).key_hash, seed), b);
  });
  order.erase(middle, order.end());
  std::ranges::sort(order);
  return order;
}

void sort_by_key(const SampleTable& table, SampleOrder& order, Context& ctx) {
  std::priority_queue<Run, std::vector<Run>, LaterKey> runs;
  for (std::size_t begin = 0; begin < order.size();) {
    ctx.throw_if_stopped();
    const std::size_t end = sort_run(table, order, begin);
    runs.push({table.read(order[begin]).key, begin, end});
    begin = end;
  }
  if (runs.size() < 2) return;
  SampleOrder merged;
  merged.reserve(order.size());
  while (!runs.empty()) {
    Run run = runs.top();
    runs.pop();
    merged.push_back(order[run.next++]);
    if (merged.size() % 65536 == 0) ctx.throw_if_stopped();
    if (run.next == run.end) continue;
    run.key = table.read(order[run.next]).key;
    runs.push(std::move(run));
  }
  order = std::move(merged);
}

}  // namespace shardkit
