#include "stats/comparison.hpp"

#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "compare_simulation.hpp"
#include "support/soak.hpp"

using namespace shardkit;
using namespace shardkit::stats;
using namespace shardkit::test;
using doctest::Approx;

namespace {

/// Runs of one value, a thousandth apart around `level`.
Runs around(double level, std::size_t count = 10) {
  Runs runs;
  for (std::size_t i = 0; i < count; ++i) {
    runs.push_back({level * (1 + 0.001 * (static_cast<double>(i) - static_cast<double>(count) / 2))});
  }
  return runs;
}

Change judge_one(const Runs& base, const Runs& changed, Better better, double threshold = 0.05) {
  const MetricSamples metric{base, changed, better, threshold};
  return judge_changes({&metric, 1}).front();
}

}  // namespace

TEST_CASE("a tenth less of a rate regressed, of a time improved") {
  const Change rate = judge_one(around(1000), around(900), Better::higher);
  CHECK(rate.verdict == ChangeVerdict::regressed);
  CHECK(rate.ratio.value() == Approx(-0.1).epsilon(0.01));
  CHECK(rate.p_value.value() < 1e-9);
  CHECK(rate.interval->low < -0.1);
  CHECK(rate.interval->high > -0.1);
  CHECK(rate.interval->confidence == Approx(0.98));
  CHECK(judge_one(around(1000), around(900), Better::lower).verdict == ChangeVerdict::improved);
  CHECK(judge_one(around(1000), around(1100), Better::lower).verdict == ChangeVerdict::regressed);
  CHECK(judge_one(around(1000), around(1100), Better::higher).verdict == ChangeVerdict::improved);
}

TEST_CASE("a change that is certain and within the threshold passes, in either direction") {
  CHECK(judge_one(around(1000), around(970), Better::higher).verdict == ChangeVerdict::pass);
  CHECK(judge_one(around(1000), around(1030), Better::higher).verdict == ChangeVerdict::pass);
  CHECK(judge_one(around(1000), around(970), Better::higher, 0.02).verdict == ChangeVerdict::regressed);
  CHECK(judge_one(around(1000), around(1000), Better::lower).verdict == ChangeVerdict::pass);
}

TEST_CASE("times that are 0 pass when none became longer, and are inconclusive when one did") {
  const Runs none(10, {0.0});
  Runs one = none;
  one.back() = {0.001};
  const auto verdict = [](const Runs& base, const Runs& changed) {
    return judge_one(base, changed, Better::lower).verdict;
  };
  CHECK(verdict(none, none) == ChangeVerdict::pass);
  CHECK(verdict(around(0.5), none) == ChangeVerdict::pass);
  CHECK(verdict(none, one) == ChangeVerdict::inconclusive);
  CHECK(verdict(none, around(0.5)) == ChangeVerdict::inconclusive);
  CHECK(verdict({{0}, {0}, {0}}, {{0, 0, 0}}) == ChangeVerdict::inconclusive);
  CHECK_FALSE(judge_one(none, none, Better::lower).ratio);
}

TEST_CASE(
    "with a floor, times that may be 0 have a ratio: what grows beyond it regressed, what stays below it passes") {
  const Runs none(10, {0.0});
  const Runs micro(10, {1e-6});
  const Runs floor(10, {0.001});
  const auto change = [](const Runs& base, const Runs& changed) {
    const MetricSamples metric{base, changed, Better::lower, 0.05, 0.001};
    return judge_changes({&metric, 1}).front();
  };
  CHECK(change(none, around(0.5)).verdict == ChangeVerdict::regressed);
  CHECK(change(none, around(0.5)).ratio.value() == Approx(499).epsilon(0.01));
  CHECK(change(around(0.5), none).verdict == ChangeVerdict::improved);
  CHECK(change(none, none).verdict == ChangeVerdict::pass);
  CHECK(change(none, micro).verdict == ChangeVerdict::pass);
  CHECK(change(micro, floor).verdict == ChangeVerdict::pass);
  CHECK(change(micro, around(0.0012)).verdict == ChangeVerdict::regressed);
  CHECK(change(around(0.5), around(0.6)).verdict == ChangeVerdict::regressed);  // above it nothing changes
  CHECK(change({{0}}, {{1e-6}}).verdict == ChangeVerdict::pass);                // also a single run
  Runs odd = none;
  odd[2] = {std::numeric_limits<double>::infinity()};
  CHECK(change(none, odd).verdict == ChangeVerdict::inconclusive);
}

TEST_CASE("an interval across the threshold is inconclusive") {
  CHECK(judge_one(around(1000), around(950), Better::higher).verdict == ChangeVerdict::inconclusive);
}

TEST_CASE("a single run per side assumes a deviation between runs, however alike its repetitions are") {
  const auto one_run = [](double level) {
    Runs run(1);
    for (const std::vector<double>& value : around(level)) run.front().push_back(value.front());
    return run;
  };
  const Change tenth = judge_one(one_run(1000), one_run(880), Better::higher);
  CHECK(tenth.verdict == ChangeVerdict::inconclusive);
  CHECK(tenth.assumed);
  CHECK_FALSE(tenth.runs_needed);
  CHECK(tenth.interval->low < -0.2);
  CHECK(judge_one(one_run(1000), one_run(500), Better::higher).verdict == ChangeVerdict::regressed);
  CHECK(judge_one({{1000}}, {{500}}, Better::higher).verdict == ChangeVerdict::regressed);
  Runs wide = one_run(1000);
  for (std::size_t i = 0; i < wide.front().size(); ++i) wide.front()[i] *= i % 2 == 0 ? 0.5 : 2;
  CHECK(judge_one(wide, one_run(500), Better::higher).verdict == ChangeVerdict::inconclusive);
  CHECK(judge_one({{1000}, {600}}, {{600}, {300}}, Better::higher).verdict == ChangeVerdict::inconclusive);
}

TEST_CASE("five runs do not show how much the one on the other side differs; a run is its median") {
  const Change change = judge_one(around(1000, 5), {{800, 805, 100}}, Better::higher);
  CHECK(change.verdict == ChangeVerdict::inconclusive);
  CHECK(change.assumed);
  CHECK(judge_one(around(1000, 5), {{700, 705, 695}}, Better::higher).verdict == ChangeVerdict::regressed);
  CHECK(change.ratio.value() == Approx(-0.2).epsilon(0.01));
}

TEST_CASE("runs in pairs: a machine that changes from pair to pair hides no change") {
  Runs base;
  Runs changed;
  for (int i = 0; i < 10; ++i) {
    const double level = i % 3 == 0 ? 500 : 1000;
    base.push_back({level + i});
    changed.push_back({level * 0.9 + i});
  }
  MetricSamples metric{base, changed, Better::higher, 0.05};
  CHECK(judge_changes({&metric, 1}).front().verdict == ChangeVerdict::inconclusive);
  metric.paired = true;
  CHECK(judge_changes({&metric, 1}).front().verdict == ChangeVerdict::regressed);
}

TEST_CASE("Student's t: tails and critical values of the published tables") {
  CHECK(student_tail(0, 7) == Approx(0.5));
  CHECK(student_tail(1, 1) == Approx(0.25));
  const std::vector<std::pair<std::size_t, double>> critical{{1, 31.821}, {2, 6.965},  {3, 4.541}, {9, 2.821},
                                                             {10, 2.764}, {30, 2.457}, {0, 2.3263}};
  for (const auto& [degrees, t] : critical) {
    CAPTURE(degrees);
    CHECK(student_quantile(0.01, degrees) == Approx(t).epsilon(0.0003));
    CHECK(student_tail(t, degrees) == Approx(0.01).epsilon(0.01));
  }
  CHECK(student_tail(1e9, 9) >= 0);
}

TEST_CASE("values without a ratio are inconclusive and say no numbers") {
  for (const double odd : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Runs runs = around(1000);
    runs[3] = {odd};
    const Change change = judge_one(around(1000), runs, Better::higher);
    CHECK(change.verdict == ChangeVerdict::inconclusive);
    CHECK_FALSE(change.ratio);
    CHECK_FALSE(change.p_value);
  }
  CHECK_FALSE(judge_one({}, around(1), Better::higher).ratio);
  CHECK_FALSE(judge_one({{}}, around(1), Better::higher).ratio);
  CHECK(judge_changes({}).empty());
}

TEST_CASE("intervals of metrics that changed together are wider, so that they hold together") {
  const Runs base = around(1000);
  const Runs changed = around(900);
  const std::vector<MetricSamples> six(6, {base, changed, Better::higher, 0.05});
  const std::vector<Change> changes = judge_changes(six);
  const Change alone = judge_one(base, changed, Better::higher);
  CHECK(changes.front().interval->confidence == Approx(1 - 0.02 / 6));
  CHECK(changes.front().interval->low < alone.interval->low);
  CHECK(changes.front().interval->high > alone.interval->high);
  CHECK(changes.front().p_value == alone.p_value);
}

TEST_CASE("the more metrics changed for sure, the less the others need to have changed as well") {
  // One metric whose change needs a level between that of one metric and a sixth of it.
  const Runs base = around(1000);
  double level = 1000;
  const auto doubtful = [&] { return MetricSamples{base, around(level), Better::higher, 0.00001}; };
  while (judge_one(base, around(level), Better::higher).p_value.value() > 0.25 * kFalseAlarms) level -= 0.01;
  CHECK(judge_one(base, around(level), Better::higher).p_value.value() > kFalseAlarms / 6);

  std::vector<MetricSamples> six(6, {base, around(900), Better::higher, 0.00001});
  six.back() = doubtful();
  for (const Change& change : judge_changes(six)) CHECK(change.verdict == ChangeVerdict::regressed);
  for (std::size_t i = 0; i < 5; ++i) six[i].changed = base;
  CHECK(judge_changes(six).back().verdict == ChangeVerdict::inconclusive);
}

// The bars of docs/explain/comparing.md, with a fixed seed and fewer calls than its tables: six metrics a call. With
// SHARDKIT_SOAK there are as many.

TEST_CASE("the same program twice: at most 1 % of calls are false alarms, however much runs differ") {
  const std::size_t calls = tries(300, 20'000);
  std::vector<Scenario> designs{{}, {.runs = 5}, {.runs = 3}, {.paired = false}, {.runs = 3, .paired = false}};
  designs.push_back({.runs = 1, .repetitions = 10, .paired = false});
  designs.push_back({.drift = 0.06});
  for (Scenario scenario : designs) {
    for (const double deviation : {0.01, 0.02, 0.03, 0.05}) {
      scenario.noise = noises().front();
      scenario.run_deviation = deviation;
      CAPTURE(scenario.runs);
      CAPTURE(scenario.paired);
      CAPTURE(deviation);
      const Shares shares = simulate(scenario, calls, 1);
      CHECK(shares.regressed <= 0.01);
      CHECK(shares.improved <= 0.01);
    }
  }
}

TEST_CASE("the same with repetitions of any noise, and with changes below the threshold") {
  for (const Noise& noise : noises()) {
    for (const Better better : {Better::higher, Better::lower}) {
      CAPTURE(noise.name);
      const Scenario scenario{.noise = noise, .better = better, .run_deviation = 0.02};
      CHECK(simulate(scenario, tries(300, 20'000), 2).regressed <= 0.01);
      Scenario changed = scenario;
      changed.shift = 0.03;
      CHECK(simulate(changed, tries(300, 20'000), 3).regressed <= 0.01);
    }
  }
}

TEST_CASE("a tenth worse is seen in at least 95 % of calls: 10 pairs, runs that differ by 2 %") {
  const Noise noise{"1 %", [](Prng& prng) { return 0.01 * prng.normal(); }};
  Scenario scenario{.noise = noise, .shift = 0.1, .run_deviation = 0.02};
  CHECK(simulate(scenario, tries(300, 20'000), 5).regressed >= 0.95);
  scenario.shifted = 1;
  CHECK(simulate(scenario, tries(1000, 20'000), 6).regressed >= 0.95);
  scenario.drift = 0.06;
  CHECK(simulate(scenario, tries(1000, 20'000), 8).regressed >= 0.95);
  scenario.drift = 0;
  scenario.shifted = 6;
  scenario.better = Better::lower;
  CHECK(simulate(scenario, tries(300, 20'000), 7).regressed >= 0.95);
}

TEST_CASE("with as many pairs as a call without a verdict asks for, a tenth worse is seen in about 95 % of calls") {
  for (const double deviation : {0.03, 0.05}) {
    CAPTURE(deviation);
    Scenario scenario{.noise = noises().front(), .metrics = 1, .run_deviation = deviation};
    const double needed = simulate(scenario, 500, 10).needed;
    CHECK(needed > 10);
    scenario.runs = static_cast<std::size_t>(needed);
    scenario.shift = 0.1;
    CHECK(simulate(scenario, 500, 11).regressed >= 0.9);
  }
}

TEST_CASE("one run per side shows a loss of 40 % in at least 98 % of calls, and raises no alarm") {
  for (const double deviation : {0.01, 0.03, 0.05}) {
    CAPTURE(deviation);
    Scenario scenario{.noise = noises().front(), .shift = 0.4, .shifted = 1, .run_deviation = deviation, .runs = 1};
    scenario.repetitions = 10;
    scenario.paired = false;
    CHECK(simulate(scenario, tries(500, 20'000), 12).regressed >= 0.97);
    scenario.shift = 0;
    CHECK(simulate(scenario, tries(500, 20'000), 13).regressed <= 0.01);
  }
}

/// The share of calls with a false alarm in one of six metrics; `r`: how much a run is like the one before it.
double false_alarms(std::size_t base_runs, std::size_t new_runs, double base_noise, double new_noise, double r = 0) {
  Prng prng(14);
  const std::size_t calls = tries(300, 10'000);
  double alarms = 0;
  for (std::size_t call = 0; call < calls; ++call) {
    std::vector<MetricSamples> metrics(6);
    for (MetricSamples& metric : metrics) {
      const auto draw = [&](std::size_t runs, double noise, Runs& side) {
        double state = noise * prng.normal();
        for (std::size_t i = 0; i < runs; ++i) {
          side.push_back({std::exp(state)});
          state = r * state + std::sqrt(1 - r * r) * noise * prng.normal();
        }
      };
      draw(base_runs, base_noise, metric.base);
      draw(new_runs, new_noise, metric.changed);
    }
    const auto changes = judge_changes(metrics);
    alarms += std::ranges::count(changes, ChangeVerdict::regressed, &Change::verdict) > 0 ? 1 : 0;
  }
  return alarms / static_cast<double>(calls);
}

TEST_CASE("sides of different sizes and deviations raise no alarms") {
  for (const auto& [base, changed] : {std::pair(1, 10), {2, 10}, {3, 10}, {10, 3}, {5, 20}}) {
    for (const double a : {0.01, 0.05}) {
      for (const double b : {0.01, 0.05}) {
        CAPTURE(base);
        CAPTURE(changed);
        CHECK(false_alarms(base, changed, a, b) <= 0.01);
      }
    }
  }
}

TEST_CASE("runs that are half like the one before them raise few alarms") {
  CHECK(false_alarms(10, 10, 0.03, 0.03, 0.5) <= 0.03);
  CHECK(false_alarms(10, 10, 0.05, 0.05, 0.5) <= 0.03);
}

TEST_CASE("a rate that most runs lost regressed, one that few lost does not pass, and the others are judged") {
  const auto verdict = [](std::size_t lost_before, std::size_t lost) {
    MetricSamples metric;
    for (std::size_t i = 0; i < 10; ++i) {
      const double rate = 1 + 0.001 * static_cast<double>(i);
      metric.base.push_back({i < lost_before ? 0 : rate});
      metric.changed.push_back({i < lost ? 0 : rate});
    }
    return judge_changes({&metric, 1}).front().verdict;
  };
  CHECK(verdict(0, 9) == ChangeVerdict::regressed);
  CHECK(verdict(0, 10) == ChangeVerdict::regressed);
  CHECK(verdict(0, 1) == ChangeVerdict::inconclusive);
  CHECK(verdict(1, 1) == ChangeVerdict::pass);
  CHECK(verdict(3, 0) == ChangeVerdict::pass);
}

TEST_CASE("one outlier asks for no thousand runs") {
  MetricSamples metric;
  for (std::size_t i = 0; i < 10; ++i) {
    const double rate = 1 + 0.001 * static_cast<double>(i);
    metric.base.push_back({rate});
    metric.changed.push_back({i == 3 ? 0.1 : rate});
  }
  const Change change = judge_changes({&metric, 1}).front();
  CHECK(change.verdict == ChangeVerdict::inconclusive);
  CHECK_FALSE(change.runs_needed);
}

TEST_CASE("the same seed gives the same shares") {
  const Scenario scenario{.noise = noises()[1], .shift = 0.07};
  CHECK(simulate(scenario, 50, 9).regressed == simulate(scenario, 50, 9).regressed);
}
