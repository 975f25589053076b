#include "iobench/cells.hpp"

#include <iterator>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"

namespace shardkit::apps {

std::string percent_cell(const std::optional<double>& ratio, int digits) {
  return ratio ? fmt::format("{:.{}f} %", *ratio * 100, digits) : "-";
}

std::string per_second_cell(const std::optional<double>& count) {
  return count ? bench::rate_number(*count) + "/s" : "-";
}

std::string repeated_text(std::span<const bench::RepeatedMetric> metrics, std::size_t repetitions) {
  constexpr std::size_t kLeastRepetitions = 6;  // fewer values have no interval of 95 % (stats/summary.hpp)
  if (metrics.empty() || repetitions < 2) return {};
  const std::string interval =
      repetitions < kLeastRepetitions ? fmt::format("range of {}", repetitions) : "95 % interval";
  std::string text =
      fmt::format("\nmedian of {} repetitions ({}), and the range expected for the median of as many more:\n",
                  repetitions, interval);
  auto to = std::back_inserter(text);
  for (const bench::RepeatedMetric& metric : metrics) fmt::format_to(to, "{:<38}{}\n", metric.metric, metric.text);
  return text;
}

}  // namespace shardkit::apps
