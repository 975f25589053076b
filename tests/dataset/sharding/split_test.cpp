#include "dataset/sharding/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

constexpr std::uint32_t kSamples = 10'000;

/// Sample i has key "k<i>" and one of four labels.
SplitFacts facts_of(std::uint32_t sample) { return {xxh3_64(as_bytes(fmt::format("k{}", sample))), sample % 4}; }

SampleOrder first_samples(std::uint32_t count) {
  SampleOrder order(count);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

DividedSamples divide(const SplitRule& rule, const SampleOrder& order = first_samples(kSamples)) {
  Context context;
  return split_samples(order, rule, facts_of, context);
}

/// The samples of `order` that are in both.
SampleOrder in_both(const SampleOrder& one, const SampleOrder& other) {
  SampleOrder common;
  std::ranges::set_intersection(one, other, std::back_inserter(common));
  return common;
}

SplitRule halves(std::uint64_t seed = 0) { return {parse_split({"a=0.5", "b=0.5"}), seed}; }

SplitRule grouped(const std::string& by) {
  SplitOptions options;
  options.split = {"a=0.5", "b=0.5"};
  options.group_by = by;
  return split_rule(options);
}

}  // namespace

TEST_CASE(
    "each sample is in one set, in the order it had, and sets and labels have their shares as far as chance allows") {
  const std::vector<SplitShare> shares = parse_split({"a=0.7", "b=0.2", "c=0.1"});
  const std::vector<SampleOrder> sets = divide({shares}).sets;
  std::set<std::uint32_t> all;
  std::size_t samples = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto five_deviations = [&](double n) { return 5 * std::sqrt(n * shares[i].ratio * (1 - shares[i].ratio)); };
    CHECK(std::ranges::is_sorted(sets[i]));
    CHECK(std::abs(static_cast<double>(sets[i].size()) - kSamples * shares[i].ratio) < five_deviations(kSamples));
    for (std::uint32_t label = 0; label < 4; ++label) {
      const auto labeled = std::ranges::count_if(sets[i], [&](std::uint32_t s) { return s % 4 == label; });
      CHECK(std::abs(static_cast<double>(labeled) - kSamples / 4.0 * shares[i].ratio) <
            five_deviations(kSamples / 4.0));
    }
    all.insert(sets[i].begin(), sets[i].end());
    samples += sets[i].size();
  }
  CHECK(all.size() == kSamples);
  CHECK(samples == kSamples);
}

TEST_CASE("the seed decides who goes where") {
  CHECK(divide(halves(1)).sets == divide(halves(1)).sets);
  CHECK(divide(halves(1)).sets != divide(halves(2)).sets);
}

TEST_CASE("a sample keeps its set when others come and go") {
  const SampleOrder before = divide(halves()).sets[0];
  const SampleOrder after = divide(halves(), first_samples(kSamples - 500)).sets[0];
  CHECK(in_both(before, after) == after);
  CHECK(in_both(before, first_samples(kSamples - 500)) == after);
}

TEST_CASE("a class without a training sample gives the first set the one with the smallest hash, and only that moves") {
  const std::vector<SplitShare> shares = parse_split({"train=0.001", "val=0.999"});
  const DividedSamples few = divide({shares}, first_samples(40));  // ten of each label
  CHECK(few.labels_moved == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(few.sets[0].size() == 4);
  std::set<std::uint64_t> labels;
  for (const std::uint32_t sample : few.sets[0]) labels.insert(sample % 4);
  CHECK(labels.size() == 4);

  const DividedSamples more = divide({shares}, first_samples(44));
  CHECK(more.sets[0].size() == 4);
  CHECK(in_both(more.sets[0], few.sets[0]).size() >= 3);  // eleven of a label: its smallest hash may be another now

  Context context;
  warn_of_small_classes(
      few, {shares}, [](std::uint64_t label) { return fmt::format("c{}", label); }, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].text.find("'c0', 'c1', 'c2', 'c3'") != std::string::npos);
}

TEST_CASE("samples that move into the first set take their places in its order, from whatever set they come") {
  const auto pairs = [](std::uint32_t sample) {
    return SplitFacts{xxh3_64(as_bytes(fmt::format("k{}", sample))), sample % 40};
  };
  Context context;
  const SplitRule rule{parse_split({"train=0.4", "val=0.3", "test=0.3"}), 0};
  const DividedSamples divided = split_samples(first_samples(80), rule, pairs, context);
  CHECK(divided.labels_moved.size() > 5);
  SampleOrder all;
  for (const SampleOrder& set : divided.sets) {
    CHECK(std::ranges::is_sorted(set));
    all.insert(all.end(), set.begin(), set.end());
  }
  std::ranges::sort(all);
  CHECK(all == first_samples(80));
}

TEST_CASE(
    "a group that is in a set stays there, and only groups in no set move for a class without a training sample") {
  SplitRule rule{parse_split({"train=0.000001", "val=0.999999"}), 0};
  Context context;
  SUBCASE("a known group in the first set is a training sample: the other goes where its hash says") {
    const auto facts = [](std::uint32_t sample) {
      return SplitFacts{sample, 7, sample == 0 ? std::optional<std::size_t>(0) : std::nullopt};
    };
    const DividedSamples divided = split_samples(first_samples(2), rule, facts, context);
    CHECK(divided.sets == std::vector<SampleOrder>{{0}, {1}});
    CHECK(divided.labels_moved.empty());
  }
  SUBCASE("a known group in another set does not move: the new one does, whatever its hash") {
    for (std::uint32_t known = 0; known < 8; ++known) {
      const auto facts = [known](std::uint32_t sample) {
        return SplitFacts{sample, 7, sample == known ? std::nullopt : std::optional<std::size_t>(1)};
      };
      const DividedSamples divided = split_samples(first_samples(8), rule, facts, context);
      CHECK(divided.sets.front() == SampleOrder{known});
    }
  }
  SUBCASE("if all of its groups are in other sets, they stay") {
    const auto facts = [](std::uint32_t sample) { return SplitFacts{sample, 7, 1}; };
    const DividedSamples divided = split_samples(first_samples(4), rule, facts, context);
    CHECK(divided.sets.front().empty());
    CHECK(divided.labels_absent.front() == std::vector<std::uint64_t>{7});
  }
}

TEST_CASE("samples of a group stay together") {
  const SplitRule by_clip = grouped("key:^(.*)_frame");
  CHECK(by_clip.group("walk/v1_frame7", "", true) == "walk/v1");
  CHECK(grouped("dir").group("k", "walk/v1/frame7.jpg", true) == grouped("dir").group("k", "run/v1/frame8.jpg", true));
  CHECK(grouped("dir").group("walk/v1", "", false) == "walk/");  // no index tells the path
  CHECK(grouped("column:patient").column == "patient");
  CHECK_THROWS_WITH_AS(by_clip.group("walk/v1", "", true), doctest::Contains("does not match the key 'walk/v1'"),
                       Error);
  CHECK_THROWS_WITH_AS(grouped("key:[0-9]").group("v1", "", true), doctest::Contains("has no (group)"), Error);
  for (const char* bad : {"folder", "key:(", "column:"}) CHECK_THROWS_AS(grouped(bad), Error);

  Context context;
  const auto of_clip = [](std::uint32_t sample) {
    return SplitFacts{xxh3_64(as_bytes(fmt::format("clip{}", sample / 10))), {}};
  };
  const DividedSamples divided = split_samples(first_samples(1000), halves(), of_clip, context);
  std::set<std::uint32_t> clips;
  for (const std::uint32_t sample : divided.sets[0]) clips.insert(sample / 10);
  CHECK(clips.size() * 10 == divided.sets[0].size());
  CHECK(clips.size() > 30);
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
  CHECK(refused({"a=x"}).find("a ratio is a number above 0") != std::string::npos);
  CHECK(refused({"a=-1", "b=2"}).find("a ratio is a number above 0") != std::string::npos);
  CHECK(refused({"a=0.5", "b=0.4"}).find("add up to 0.9") != std::string::npos);
  CHECK(refused({"a=0.5", "a=0.5"}).find("twice") != std::string::npos);
}
