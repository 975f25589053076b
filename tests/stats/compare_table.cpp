// Prints the table of docs/explain/comparing.md: cmake --build build/dev --target compare_table, then run it.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "compare_simulation.hpp"

using namespace shardkit;
using namespace shardkit::stats;
using namespace shardkit::test;

namespace {

constexpr std::uint64_t kSeed = 20;

double regressed(const Scenario& scenario, std::size_t calls) {
  return 100 * simulate(scenario, calls, kSeed).regressed;
}

/// A line per noise and direction: how many of 100 calls say regressed.
void print_line(const Noise& noise, Better better, double drift, std::size_t calls) {
  const auto say = [&](double shift, std::size_t shifted) {
    return regressed({.noise = noise, .better = better, .shift = shift, .shifted = shifted, .drift = drift}, calls);
  };
  const Shares same =
      simulate({.noise = noise, .better = better, .shift = 0, .shifted = 0, .drift = drift}, calls, kSeed);
  const std::string name = std::string(noise.name) + (drift > 0 ? ", drift of 6 %, in turns" : "");
  std::printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.1f | %.1f | %.0f |\n", name.c_str(),
              better == Better::higher ? "rate" : "time", 100 * same.regressed, say(0.03, 6), say(0.05, 1),
              say(0.05, 6), say(0.1, 1), say(0.1, 6), 100 * same.pass);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  std::printf(
      "| noise | metric | 0 %% | 3 %% in all | 5 %% in one | 5 %% in all | 10 %% in one | 10 %% in all | pass at 0 %% "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const Noise& noise : noises()) {
    print_line(noise, Better::higher, 0, calls);
    print_line(noise, Better::lower, 0, calls);
  }
  print_line(noises().front(), Better::higher, 0.06, calls);
  print_line(noises().front(), Better::lower, 0.06, calls);
}
