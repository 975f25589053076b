#include "bench/compare/compare_metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/results/result_file.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

/// Waiting that nobody feels: 2 % of the shortest steps that train on images, 50 ms (docs/comparing.md).
constexpr double kWait = 0.001;
constexpr double kPoint = 0.01;

constexpr std::array kMetrics = {
    CompareMetric{"read", "bytes_per_second", Better::higher, Unit::bytes_per_second},
    CompareMetric{"read", "samples_per_second", Better::higher, Unit::per_second, 0, true},
    CompareMetric{"read", "latency_seconds.p99", Better::lower, Unit::seconds},
    CompareMetric{"decode", "samples_per_second", Better::higher, Unit::per_second},
    CompareMetric{"decode", "samples_per_second_per_core", Better::higher, Unit::per_second},
    CompareMetric{"pipeline", "samples_per_second", Better::higher, Unit::per_second},
    CompareMetric{"pipeline", "au_ratio", Better::higher, Unit::ratio, kPoint},
    CompareMetric{"pipeline", "batch_latency_seconds.p99", Better::lower, Unit::seconds, kWait},
    CompareMetric{"checkpoint", "bytes_per_second", Better::higher, Unit::bytes_per_second},
    CompareMetric{"checkpoint", "block_seconds", Better::lower, Unit::seconds, kWait},
    CompareMetric{"checkpoint", "durable_seconds", Better::lower, Unit::seconds},
    CompareMetric{"loader-probe", "samples_per_second", Better::higher, Unit::per_second},
    CompareMetric{"loader-probe", "batch_latency_seconds.p99", Better::lower, Unit::seconds, kWait},
    CompareMetric{"transfer", "pinned_h2d_bytes_per_second", Better::higher, Unit::bytes_per_second},
    CompareMetric{"transfer", "pinned_d2h_bytes_per_second", Better::higher, Unit::bytes_per_second},
    CompareMetric{"run", "predicted.samples_per_second", Better::higher, Unit::per_second, 0, true},
};

}  // namespace

std::span<const CompareMetric> compare_metrics() { return kMetrics; }

const CompareMetric& compare_metric(std::string_view name, std::string_view option, const std::string& file) {
  const auto found = std::ranges::find(kMetrics, name, &CompareMetric::name);
  if (found != kMetrics.end()) return *found;
  std::vector<std::string> names;
  for (const CompareMetric& metric : kMetrics) names.push_back(metric.name());
  throw Error(ErrorCode::usage,
              fmt::format("{}: there is no metric '{}'; there are {}", option, name, fmt::join(names, ", ")), file);
}

std::optional<double> metric_value(const CompareMetric& metric, std::string_view verb, const nlohmann::json& result) {
  const bool own = metric.stage == verb;
  if (!own && verb != "run") return std::nullopt;
  const nlohmann::json* value = member(result, own ? std::string(metric.path) : metric.name());
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::string metric_text(double value, Unit unit) {
  switch (unit) {
    case Unit::bytes_per_second:
      return format_rate(value);
    case Unit::seconds:
      return std::abs(value) < 0.0995 ? fmt::format("{:.3g} ms", value * 1e3) : format_duration(value);
    case Unit::per_second:
      return std::abs(value) >= 1000 && std::abs(value) < 1e18
                 ? format_count(static_cast<std::uint64_t>(std::llround(std::abs(value)))) + "/s"
                 : fmt::format("{:.3g}/s", value);
    default:
      return fmt::format("{:.3g}", value);
  }
}

}  // namespace shardkit
