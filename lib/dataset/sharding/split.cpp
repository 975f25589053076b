#include "dataset/sharding/split.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/prng.hpp"

namespace shardkit::dataset {
namespace {

constexpr double kSumTolerance = 1e-6;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

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

}  // namespace

std::uint64_t rank_of(std::uint64_t key_hash, std::uint64_t seed) { return Prng(seed ^ key_hash).next(); }

bool parse_ratio(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
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

void SplitOptions::describe(FieldVisitor& v) {
  v.field({"split",
           "divide the samples among folders NAME of the target with a manifest each, such as train=0.9,val=0.1; where "
           "a sample goes depends on the keys and --seed alone",
           "NAME=RATIO,...", kPlanned},
          split);
  v.field({"stratify", "split so that all sets have the same mix of labels", kPlanned}, stratify);
  v.field({"seed", "of what --split (and reshard's --sample) leave to chance", "SEED", kPlanned}, seed);
}

SplitRule split_rule(const SplitOptions& options) {
  SplitRule rule{parse_split(options.split), options.stratify, options.seed};
  if (rule.stratify && rule.shares.empty()) refuse("--stratify says how to --split; there is no --split");
  return rule;
}

std::map<std::string, std::string> split_texts(const SplitOptions& options, const std::string& name) {
  if (options.split.empty()) return {};
  std::map<std::string, std::string> texts = planned_texts(options);
  texts.emplace("set", name);
  return texts;
}

void refuse_empty_set(const std::string& name, const SampleOrder& samples) {
  if (!samples.empty()) return;
  throw Error(ErrorCode::not_found, fmt::format("no sample would go to '{}'; change --split", name));
}

std::vector<SampleOrder> split_samples(SampleOrder order, const SplitRule& rule,
                                       const std::function<SplitFacts(std::uint32_t)>& facts, Context& ctx) {
  const auto place = [&](std::uint32_t sample) {
    const SplitFacts of = facts(sample);
    const std::uint64_t label_rank = rule.stratify ? rank_of(of.label, rule.seed) : 0;
    return std::tuple(label_rank, rule.stratify ? of.label : 0, rank_of(of.key_hash, rule.seed), sample);
  };
  unsigned compared = 0;
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (++compared % 65536 == 0) ctx.throw_if_stopped();  // ten million take seconds
    return place(a) < place(b);
  });
  std::vector<SampleOrder> sets = rule.stratify ? deal(order, rule.shares) : cut(order, rule.shares);
  for (SampleOrder& set : sets) std::ranges::sort(set);
  return sets;
}

}  // namespace shardkit::dataset
