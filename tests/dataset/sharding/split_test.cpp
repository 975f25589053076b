#include "dataset/sharding/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

constexpr std::uint32_t kSamples = 1003;

/// Sample i has key "k<i>" and one of four labels.
SplitFacts facts_of(std::uint32_t sample) { return {xxh3_64(as_bytes(fmt::format("k{}", sample))), sample % 4}; }

SampleOrder all_samples() {
  SampleOrder order(kSamples);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<SampleOrder> divide(const SplitRule& rule, SampleOrder order = all_samples()) {
  Context ctx;
  return split_samples(std::move(order), rule, facts_of, ctx);
}

}  // namespace

TEST_CASE("split sizes follow the ratios to the sample, and each sample is in one set") {
  const auto sets = divide({parse_split({"a=0.7", "b=0.2", "c=0.1"}), false, 0});
  CHECK(sets[0].size() == 702);
  CHECK(sets[1].size() == 201);
  CHECK(sets[2].size() == 100);
  std::set<std::uint32_t> all;
  for (const SampleOrder& set : sets) all.insert(set.begin(), set.end());
  CHECK(all.size() == kSamples);
  for (const SampleOrder& set : sets) CHECK(std::ranges::is_sorted(set));
}

TEST_CASE("a stratified split divides every label and the whole alike, labels of one sample too") {
  const std::vector<SplitShare> shares = parse_split({"a=0.7", "b=0.2", "c=0.1"});
  const auto sets = divide({shares, true, 0});
  for (std::size_t i = 0; i < sets.size(); ++i) {
    CHECK(std::abs(static_cast<double>(sets[i].size()) - kSamples * shares[i].ratio) <= 1);
    for (std::uint32_t label = 0; label < 4; ++label) {
      const auto labelled = std::ranges::count_if(sets[i], [&](std::uint32_t s) { return facts_of(s).label == label; });
      CHECK(std::abs(static_cast<double>(labelled) - 250.75 * shares[i].ratio) <= 2);
    }
  }
  const auto halves = divide({parse_split({"x=0.5", "y=0.5"}), true, 0}, {0, 1, 2, 3});  // one of each label
  CHECK(halves[0].size() == 2);
  CHECK(halves[1].size() == 2);
}

TEST_CASE("the seed decides who goes where") {
  const std::vector<SplitShare> shares = parse_split({"a=0.5", "b=0.5"});
  CHECK(divide({shares, false, 1}) == divide({shares, false, 1}));
  CHECK(divide({shares, false, 1}) != divide({shares, false, 2}));
}

TEST_CASE("a sample stays near its share when others come and go") {
  const std::vector<SplitShare> shares = parse_split({"a=0.5", "b=0.5"});
  const SampleOrder before = divide({shares, false, 0})[0];
  SampleOrder fewer = all_samples();
  fewer.resize(kSamples - 50);
  const SampleOrder after = divide({shares, false, 0}, fewer)[0];
  SampleOrder common;
  std::ranges::set_intersection(before, after, std::back_inserter(common));
  CHECK(common.size() > 420);  // of some 475: only those at the border move
}

TEST_CASE("a split that is none is refused with what to write") {
  const auto refused = [](const std::vector<std::string>& texts) {
    try {
      parse_split(texts);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused({"train"}).find("NAME=RATIO") != std::string::npos);
  CHECK(refused({"=1"}).find("NAME=RATIO") != std::string::npos);
  CHECK(refused({"a/b=1"}).find("NAME=RATIO") != std::string::npos);
  CHECK(refused({"a=x"}).find("NAME=RATIO") != std::string::npos);
  CHECK(refused({"a=-1", "b=2"}).find("NAME=RATIO") != std::string::npos);
  CHECK(refused({"a=0.5", "b=0.4"}).find("add up to 0.9") != std::string::npos);
  CHECK(refused({"a=0.5", "a=0.5"}).find("twice") != std::string::npos);
}
