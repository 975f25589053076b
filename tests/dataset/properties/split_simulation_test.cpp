#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/prng.hpp"
#include "dataset/sharding/split.hpp"
#include "support/soak.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

/// Samples by name: which class each is of.
using Source = std::map<std::string, std::uint64_t>;
/// The set of each sample.
using Sets = std::map<std::string, std::size_t>;

Source random_source(Prng& prng) {
  Source source;
  const std::uint64_t classes = 1 + prng.below(40);
  for (std::uint64_t label = 0; label < classes; ++label) {
    const std::uint64_t samples = 1 + prng.below(prng.below(2) == 0 ? 5 : 60);
    for (std::uint64_t i = 0; i < samples; ++i) source.emplace(fmt::format("{}/{}", label, prng.next()), label);
  }
  return source;
}

Sets divide(const Source& source, const SplitRule& rule) {
  std::vector<std::pair<std::string, std::uint64_t>> samples(source.begin(), source.end());
  SampleOrder order(samples.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  Context context;
  const DividedSamples divided = split_samples(
      order, rule,
      [&](std::uint32_t i) {
        return SplitFacts{xxh3_64(as_bytes(samples[i].first)), samples[i].second};
      },
      context);
  Sets sets;
  for (std::size_t set = 0; set < divided.sets.size(); ++set) {
    for (const std::uint32_t sample : divided.sets[set]) sets.emplace(samples[sample].first, set);
  }
  return sets;
}

/// Some samples go, some come, a class may be new.
Source changed(const Source& source, Prng& prng) {
  Source result;
  for (const auto& sample : source) {
    if (prng.below(10) != 0) result.insert(sample);
  }
  const std::uint64_t fresh = prng.below(20);
  for (std::uint64_t i = 0; i < fresh; ++i) result.emplace(fmt::format("new/{}", prng.next()), prng.below(45));
  return result;
}

}  // namespace

TEST_CASE("whatever comes and goes, at most one sample of each class changes its set, and each class can be trained") {
  const std::uint64_t seed = test_seed();
  const std::uint64_t sources = tries(300, 20'000);
  MESSAGE(fmt::format("{} sources from seed {}", sources, seed));
  Prng prng(seed);
  for (std::uint64_t i = 0; i < sources; ++i) {
    const SplitRule rule{parse_split({"train=0.8", "val=0.15", "test=0.05"}), prng.next()};
    const Source before = random_source(prng);
    const Source after = changed(before, prng);
    const Sets sets_before = divide(before, rule);
    const Sets sets_after = divide(after, rule);
    REQUIRE(sets_before.size() == before.size());
    REQUIRE(sets_after.size() == after.size());
    std::map<std::uint64_t, int> moved;
    std::set<std::uint64_t> trained;
    std::set<std::uint64_t> labels;
    for (const auto& [sample, label] : after) {
      labels.insert(label);
      if (sets_after.at(sample) == 0) trained.insert(label);
      const auto was = sets_before.find(sample);
      if (was != sets_before.end() && was->second != sets_after.at(sample)) ++moved[label];
    }
    CHECK(trained == labels);
    for (const auto& [label, samples] : moved)
      CHECK_MESSAGE(samples == 1, fmt::format("source {}, class {}", i, label));
  }
}

TEST_CASE("the shares of sets, and of the sets of a sample, are those of chance") {
  const std::uint64_t samples = tries(20'000, 2'000'000);
  const SplitRule rule{parse_split({"train=0.8", "val=0.2"}), test_seed()};
  Source source;
  for (std::uint64_t i = 0; i < samples; ++i) source.emplace(fmt::format("c{}/{}", i % 10, i), i % 10);
  std::map<std::uint64_t, double> in_val;
  for (const auto& [sample, set] : divide(source, rule)) in_val[source.at(sample)] += set == 1 ? 1 : 0;
  const double each = static_cast<double>(samples) / 10;
  for (const auto& [label, count] : in_val) {
    CHECK(std::abs(count - 0.2 * each) < 5 * std::sqrt(each * 0.2 * 0.8));
  }
}
