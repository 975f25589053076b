#include "stats/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace shardkit {
namespace {

constexpr std::size_t kMostExact = 50;

/// P(Z > z) of the normal distribution.
double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

double normal_deviation(double m, double n) { return std::sqrt(m * n * (m + n + 1) / 12); }

/// probabilities[u] of U being u when nothing differs: of all ways to choose m of m + n ranks, how many have the rank
/// sum u + m (m + 1) / 2. Counted rank by rank; doubles hold it, because nothing is subtracted.
std::vector<double> u_probabilities(std::size_t m, std::size_t n) {
  // ways[k][u]: k ranks chosen among those seen, each i-th of them counted by how far it is above i.
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(m * n + 1));
  ways[0][0] = 1;
  for (std::size_t rank = 0; rank < m + n; ++rank) {
    for (std::size_t k = std::min(rank + 1, m); k > 0; --k) {
      const std::size_t above = rank - (k - 1);
      if (above > n) continue;
      for (std::size_t u = 0; u + above <= m * n; ++u) ways[k][u + above] += ways[k - 1][u];
    }
  }
  double total = 0;
  for (const double way : ways[m]) total += way;
  for (double& way : ways[m]) way /= total;
  return std::move(ways[m]);
}

std::vector<double> merged(std::span<const double> base, std::span<const double> changed) {
  std::vector<double> all(base.begin(), base.end());
  all.insert(all.end(), changed.begin(), changed.end());
  std::sort(all.begin(), all.end());
  return all;
}

/// Sum of t^3 - t over the groups of t equal values.
double tie_sum(const std::vector<double>& sorted) {
  double sum = 0;
  for (std::size_t i = 0, next = 0; i < sorted.size(); i = next) {
    while (next < sorted.size() && sorted[next] == sorted[i]) ++next;
    const auto t = static_cast<double>(next - i);
    sum += t * t * t - t;
  }
  return sum;
}

/// Pairs in which `changed` is the larger; equal ones count half.
double u_of(std::span<const double> base, std::span<const double> changed) {
  double u = 0;
  for (const double b : base) {
    for (const double c : changed) u += c > b ? 1 : c == b ? 0.5 : 0;
  }
  return u;
}

double exact_p(double u, std::size_t m, std::size_t n) {
  const std::vector<double> probabilities = u_probabilities(m, n);
  const auto less = static_cast<std::size_t>(std::min(u, static_cast<double>(m * n) - u));
  double tail = 0;
  for (std::size_t i = 0; i <= less; ++i) tail += probabilities[i];
  return std::min(2 * tail, 1.0);
}

double approximate_p(double u, double m, double n, double ties) {
  const double all = m + n;
  const double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(std::abs(u - m * n / 2) - 0.5, 0.0);
  return std::min(2 * normal_tail(distance / std::sqrt(variance)), 1.0);
}

/// How many of the sorted differences lie below the interval's end.
std::size_t cut_differences(std::size_t m, std::size_t n, double tail) {
  if (m <= kMostExact && n <= kMostExact) {
    const std::vector<double> probabilities = u_probabilities(m, n);
    double sum = 0;
    for (std::size_t u = 0; u < probabilities.size() / 2; ++u) {
      sum += probabilities[u];
      if (sum > tail) return u;
    }
    return probabilities.size() / 2;
  }
  const auto pairs = static_cast<double>(m) * static_cast<double>(n);
  const double deviation = normal_deviation(static_cast<double>(m), static_cast<double>(n));
  std::size_t cut = 0;
  while (normal_tail((pairs / 2 - static_cast<double>(cut) - 0.5) / deviation) <= tail) ++cut;
  return cut;
}

std::vector<double> sorted_differences(std::span<const double> base, std::span<const double> changed) {
  std::vector<double> differences;
  differences.reserve(base.size() * changed.size());
  for (const double b : base) {
    for (const double c : changed) differences.push_back(c - b);
  }
  std::sort(differences.begin(), differences.end());
  return differences;
}

double median_of(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace

double mann_whitney_p(std::span<const double> base, std::span<const double> changed) {
  if (base.empty() || changed.empty()) return 1;
  const double ties = tie_sum(merged(base, changed));
  const double u = u_of(base, changed);
  if (ties == 0 && base.size() <= kMostExact && changed.size() <= kMostExact) {
    return exact_p(u, base.size(), changed.size());
  }
  return approximate_p(u, static_cast<double>(base.size()), static_cast<double>(changed.size()), ties);
}

std::optional<Shift> rank_shift(std::span<const double> base, std::span<const double> changed, double tail) {
  if (base.empty() || changed.empty()) return std::nullopt;
  const std::size_t cut = cut_differences(base.size(), changed.size(), tail);
  if (cut == 0) return std::nullopt;
  const std::vector<double> differences = sorted_differences(base, changed);
  return Shift{median_of(differences), differences[cut - 1], differences[differences.size() - cut]};
}

double rank_shift_estimate(std::span<const double> base, std::span<const double> changed) {
  return median_of(sorted_differences(base, changed));
}

}  // namespace shardkit
