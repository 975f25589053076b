#include "dataset/sample_order.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "formats/tsv.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kRunKeyBytes = 32U * 1024U * 1024U;
constexpr std::size_t kRunSamples = 1U << 18U;
constexpr double kSumTolerance = 1e-6;

std::uint64_t rank_of(const SampleTable& table, std::uint32_t sample, std::uint64_t seed) {
  return Prng(seed ^ table.record(sample).key_hash).next();
}

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

bool parse_ratio(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

/// Each share gets a run of its length.
std::vector<SampleOrder> cut(const SampleOrder& order, const std::vector<SplitShare>& shares) {
  std::vector<SampleOrder> sets;
  double share_end = 0;
  auto from = order.begin();
  for (const SplitShare& share : shares) {
    share_end += share.ratio;
    const auto to = &share == &shares.back()
                        ? order.end()
                        : order.begin() + std::llround(static_cast<double>(order.size()) * share_end);
    sets.emplace_back(from, to);
    from = to;
  }
  return sets;
}

/// Each sample goes to the share that is furthest behind its ratio: so every stretch is divided alike, and what labels
/// with few samples round off evens out over all.
std::vector<SampleOrder> deal(const SampleOrder& order, const std::vector<SplitShare>& shares) {
  std::vector<SampleOrder> sets(shares.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto behind = [&](std::size_t set) {
      return shares[set].ratio * static_cast<double>(i + 1) - static_cast<double>(sets[set].size());
    };
    std::size_t most = 0;
    for (std::size_t set = 1; set < sets.size(); ++set) {
      if (behind(set) > behind(most)) most = set;
    }
    sets[most].push_back(order[i]);
  }
  return sets;
}

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
    return std::pair(rank_of(table, a, seed), a) < std::pair(rank_of(table, b, seed), b);
  });
  order.erase(middle, order.end());
  std::ranges::sort(order);
  return order;
}

std::vector<SplitShare> parse_split(const std::vector<std::string>& texts) {
  std::vector<SplitShare> shares;
  double sum = 0;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    SplitShare share{text.substr(0, equals), 0};
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (share.name.empty() || share.name.size() > 80 || share.name.find_first_not_of(allowed) != std::string::npos ||
        equals == std::string::npos || !parse_ratio(std::string_view(text).substr(equals + 1), share.ratio) ||
        share.ratio <= 0) {
      refuse(
          fmt::format("--split '{}': say NAME=RATIO, such as train=0.9,val=0.1, with letters, digits, '_' and '-' in "
                      "names",
                      text));
    }
    if (std::ranges::any_of(shares, [&](const SplitShare& other) { return other.name == share.name; })) {
      refuse(fmt::format("--split names '{}' twice", share.name));
    }
    sum += share.ratio;
    shares.push_back(std::move(share));
  }
  if (!shares.empty() && std::abs(sum - 1) > kSumTolerance) {
    refuse(fmt::format("the ratios of --split add up to {:g}, not to 1", sum));
  }
  return shares;
}

std::vector<SampleOrder> split_samples(const SampleTable& table, SampleOrder order,
                                       const std::vector<SplitShare>& shares, bool stratify, std::uint64_t seed,
                                       Context& ctx) {
  const auto by_rank = [&](std::uint32_t sample) { return std::pair(rank_of(table, sample, seed), sample); };
  const auto by_label = [&](std::uint32_t sample) {
    const std::uint32_t label = table.record(sample).label;
    return std::pair(Prng(seed ^ label).next(), label);
  };
  unsigned compared = 0;
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (++compared % 65536 == 0) ctx.throw_if_stopped();  // ten million take seconds
    if (stratify && by_label(a) != by_label(b)) return by_label(a) < by_label(b);
    return by_rank(a) < by_rank(b);
  });
  std::vector<SampleOrder> sets = stratify ? deal(order, shares) : cut(order, shares);
  for (SampleOrder& set : sets) std::ranges::sort(set);
  return sets;
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
