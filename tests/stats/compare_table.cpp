// Prints the tables of docs/explain/comparing.md: cmake --build build/dev --target compare_table, then run it.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "compare_simulation.hpp"

using namespace shardkit;
using namespace shardkit::stats;
using namespace shardkit::test;

namespace {

constexpr std::uint64_t kSeed = 20;

/// A line per deviation between runs: how many of 100 calls say regressed.
void print_line(Scenario scenario, double deviation, std::size_t calls) {
  const auto say = [&](double shift, std::size_t shifted, Better better) {
    scenario.run_deviation = deviation;
    scenario.shift = shift;
    scenario.shifted = shifted;
    scenario.better = better;
    return simulate(scenario, calls, kSeed);
  };
  const Shares same = say(0, 0, Better::higher);
  const auto regressed = [&](double shift, std::size_t shifted, Better better) {
    return 100 * say(shift, shifted, better).regressed;
  };
  std::printf("| %.0f %% | %.2f | %.2f | %.2f | %.1f | %.1f | %.1f | %.0f | %.0f |\n", 100 * deviation,
              100 * same.regressed, regressed(0.03, 6, Better::higher), regressed(0.05, 6, Better::higher),
              regressed(0.1, 1, Better::higher), regressed(0.1, 1, Better::lower), regressed(0.1, 6, Better::higher),
              100 * same.pass, same.needed);
  std::fflush(stdout);
}

void print_table(const char* title, const Scenario& scenario, std::size_t calls) {
  std::printf(
      "\n%s:\n\n| deviation of runs | 0 %% | 3 %% in all | 5 %% in all | rate, 10 %% in one | time, 10 %% in one "
      "| 10 %% in all | pass at 0 %% | needed |\n|---|---|---|---|---|---|---|---|---|\n",
      title);
  for (const double deviation : {0.01, 0.02, 0.03, 0.05}) print_line(scenario, deviation, calls);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const Noise& noise = noises().front();
  print_table("10 pairs", {.noise = noise}, calls);
  print_table("20 pairs", {.noise = noise, .runs = 20}, calls);
  print_table("40 pairs", {.noise = noise, .runs = 40}, calls);
  print_table("10 pairs, while the machine drifts by 6 %", {.noise = noise, .drift = 0.06}, calls);
  print_table("10 runs per side, not paired", {.noise = noise, .paired = false}, calls);
  print_table("1 run of 10 repetitions per side", {.noise = noise, .runs = 1, .repetitions = 10, .paired = false},
              calls);
}
