#include <algorithm>

#include <doctest/doctest.h>

#include "bench/sweep/sweep.hpp"
#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using doctest::Approx;

namespace {

std::vector<std::uint64_t> values(const SweepOutcome& outcome, const std::string& parameter) {
  std::vector<std::uint64_t> found;
  for (const SweepRow& row : outcome.rows) {
    if (enum_name(row.parameter) == parameter) found.push_back(row.value);
  }
  return found;
}

/// Storage that gives `rate` for each read under way, up to `most` in all; blocks of less than 1 MiB give half.
SweepProbes storage(double rate, double most) {
  return {[=](const SweepPoint& setting) {
            const auto under_way = static_cast<double>(setting.threads * setting.depth);
            const double share = setting.block < (1U << 20U) ? 0.5 : 1;
            return SweepRate{share * std::min(rate * under_way, most)};
          },
          {}};
}

SweepOutcome reading(const SweepProbes& probes) {
  SweepOutcome outcome;
  sweep_reading(probes, outcome);
  return outcome;
}

}  // namespace

TEST_CASE("threads rise until two more gain nothing, then blocks at their knee") {
  const SweepOutcome outcome = reading(storage(100, 800));
  CHECK(values(outcome, "threads") == std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32});
  CHECK(values(outcome, "block") == std::vector<std::uint64_t>{65536, 262144, 1 << 20, 4 << 20, 16 << 20});
  CHECK(outcome.settings.engine == io::EngineKind::pread);
  CHECK(outcome.settings.threads == 8U);
  CHECK(outcome.settings.block == 1U << 20U);
  CHECK(*outcome.settings.bytes_per_second == 800);
  CHECK(std::ranges::count_if(outcome.rows, &SweepRow::knee) == 3);  // one for each parameter
}

TEST_CASE("the block of the first parameter's points is measured again, which shows the noise") {
  SweepProbes probes = storage(100, 800);
  const auto quiet = probes.read;
  int calls = 0;
  probes.read = [&](const SweepPoint& setting) {
    SweepRate point = quiet(setting);
    if (++calls > 6) point.rate /= 2;  // after the six points of threads others come and read too
    return point;
  };
  const auto twice = reading(probes).measured_twice;
  REQUIRE(twice);
  CHECK(twice->first == 400);
  CHECK(twice->second == 200);
}

TEST_CASE("io_uring is settled for only where it gives 5 % more") {
  SweepProbes probes = storage(100, 800);
  const auto pread = probes.read;
  double advantage = 1.04;
  probes.read = [&](const SweepPoint& setting) {
    SweepRate point = pread(setting);
    if (setting.engine == io::EngineKind::uring) point.rate *= advantage;
    return point;
  };
  CHECK(reading(probes).settings.engine == io::EngineKind::pread);
  advantage = 1.06;
  const SweepSettings settings = reading(probes).settings;
  CHECK(settings.engine == io::EngineKind::uring);
  CHECK(settings.threads == 2U);
  CHECK(settings.depth == 4U);  // 2 threads with 4 reads each are the 8 that this storage can use
  CHECK(*settings.bytes_per_second == Approx(848));
}

TEST_CASE("where io_uring is refused pread is settled for, and why is reported") {
  SweepProbes probes = storage(100, 800);
  const auto pread = probes.read;
  probes.read = [&](const SweepPoint& setting) {
    if (setting.engine == io::EngineKind::uring) throw Error(ErrorCode::unsupported, "a seccomp filter");
    return pread(setting);
  };
  const SweepOutcome outcome = reading(probes);
  CHECK(outcome.uring_refused == "a seccomp filter");
  CHECK(outcome.settings.engine == io::EngineKind::pread);
  CHECK(values(outcome, "depth").empty());
}

TEST_CASE("values for which there is no time are left out, and the best of the others is chosen") {
  SweepProbes probes = storage(100, 800);
  int points = 3;
  probes.has_time = [&](const SweepPoint&, double) { return points-- > 0; };
  const SweepOutcome cut = reading(probes);
  CHECK(values(cut, "threads") == std::vector<std::uint64_t>{1, 2, 4});
  CHECK(values(cut, "block").empty());
  CHECK(values(cut, "depth").empty());
  CHECK(cut.is_cut);
  CHECK(cut.settings.threads == 4U);
  CHECK(cut.settings.block == 256U << 10U);  // as it was for the threads
  CHECK(*cut.settings.bytes_per_second == 200);
  CHECK_FALSE(reading(storage(100, 800)).is_cut);
}

TEST_CASE("without time for loading no workers are chosen, and without time for prefetch only they are") {
  SweepProbes probes{{}, [](const SweepPoint&) { return SweepRate{100}; }};
  int points = 0;
  probes.has_time = [&](const SweepPoint&, double) { return points-- > 0; };
  SweepOutcome outcome;
  sweep_loading(probes, 4, 64, {}, outcome);
  CHECK_FALSE(outcome.settings.workers);
  points = 1;
  sweep_loading(probes, 4, 64, {}, outcome);
  CHECK(outcome.settings.workers == 1U);
  CHECK_FALSE(outcome.settings.prefetch);
}

TEST_CASE("whether there is time is asked with the best rate of reading so far") {
  SweepProbes probes = storage(100, 800);
  std::vector<double> best;
  probes.has_time = [&](const SweepPoint&, double rate) {
    best.push_back(rate);
    return true;
  };
  reading(probes);
  CHECK(best.front() == 0);
  CHECK(best[1] == 50);
}

TEST_CASE("any other failure ends the sweep") {
  SweepProbes probes;
  probes.read = [](const SweepPoint&) -> SweepRate { throw Error(ErrorCode::io, "a bad disk"); };
  SweepOutcome outcome;
  CHECK_THROWS_AS(sweep_reading(probes, outcome), Error);
}

TEST_CASE("workers rise to one and a half times the cores, then prefetch beside a step as long as a batch") {
  SweepOutcome outcome;
  std::vector<std::optional<double>> steps;
  const SweepProbes probes{{}, [&](const SweepPoint& setting) {
                             steps.push_back(setting.step_seconds);
                             const double rate = 100 * std::min<double>(static_cast<double>(setting.workers), 4);
                             return SweepRate{setting.prefetch == 0 ? rate / 2 : rate};
                           }};
  sweep_loading(probes, 4, 64, {}, outcome);
  CHECK(values(outcome, "workers") == std::vector<std::uint64_t>{1, 2, 4, 6});
  CHECK(values(outcome, "prefetch") == std::vector<std::uint64_t>{0, 1, 2, 4});  // 2 and 4 brought nothing
  CHECK(outcome.settings.workers == 4U);
  CHECK(outcome.settings.prefetch == 1U);
  CHECK(*outcome.settings.samples_per_second == 400);
  CHECK_FALSE(steps.front());
  CHECK(*steps.back() == Approx(64 / 400.0));
}

TEST_CASE("the job's own step stands in for it") {
  SweepOutcome outcome;
  std::optional<double> step;
  sweep_loading({{},
                 [&](const SweepPoint& setting) {
                   step = setting.step_seconds;
                   return SweepRate{100};
                 }},
                1, 64, 0.25, outcome);
  CHECK(*step == 0.25);
}

TEST_CASE("the number of points is what time is shared out by") {
  CHECK(most_read_points() == 19);
  CHECK(most_load_points(1) == 7);    // 1, 2 workers, 5 prefetches
  CHECK(most_load_points(96) == 14);  // 1 to 64, 96, 144
}
