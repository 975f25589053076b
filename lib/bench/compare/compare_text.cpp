#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/compare/compare.hpp"
#include "core/error.hpp"
#include "core/metric_text.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// "+3.1 %", "more than 1000 times": beyond a factor of ten, percent are hard to read.
std::string signed_percent(double ratio) {
  constexpr double kHardToRead = 10;
  return ratio < kHardToRead ? fmt::format("{:+.1f} %", ratio * 100) : format_factor(ratio + 1) + " times";
}

std::string rows_text(const CompareResult& result, stats::ChangeVerdict verdict) {
  std::string text;
  std::size_t found = 0;
  for (const CompareRow& row : result.rows) {
    if (row.derived || row.change.verdict != verdict) continue;
    if (++found == 1) text = fmt::format("{} {}", row.metric, row.text);
  }
  return found > 1 ? fmt::format("{}; and {} more", text, found - 1) : text;
}

std::string incomparable_text(const CompareResult& result) {
  const auto decides = [](const Difference& d) { return d.decisive && !d.allowed; };
  const Difference& first = *std::ranges::find_if(result.differences, decides);
  std::vector<std::string_view> keys;
  for (const Difference& difference : result.differences) {
    if (decides(difference)) keys.push_back(difference.key);
  }
  const std::string more =
      keys.size() > 1 ? fmt::format(", and {} more", format_count(keys.size() - 1, "difference")) : "";
  return fmt::format("{} is {} in BASE and {} in NEW{}; use --allow-different {} to compare them anyway", first.key,
                     first.base.empty() ? "not set" : first.base, first.changed.empty() ? "not set" : first.changed,
                     more, fmt::join(keys, ","));
}

/// "needs about 24 pairs": to see a change by twice the threshold.
std::string inconclusive_text(const CompareResult& result) {
  if (!result.disturbance.empty()) return result.disturbance;
  std::uint64_t needed = 0;
  for (const CompareRow& row : result.rows) {
    if (!row.derived) needed = std::max(needed, row.change.runs_needed.value_or(0));
  }
  const std::string text = rows_text(result, stats::ChangeVerdict::inconclusive);
  if (needed == 0) return text;
  return fmt::format("needs about {} {}; {}", needed, result.ab ? "pairs" : "runs per side", text);
}

std::string reason_of(stats::ChangeVerdict verdict, const CompareResult& result) {
  if (verdict == stats::ChangeVerdict::incomparable) return incomparable_text(result);
  if (verdict == stats::ChangeVerdict::inconclusive) return inconclusive_text(result);
  if (verdict != stats::ChangeVerdict::pass) return rows_text(result, verdict);
  const auto counted = std::ranges::count(result.rows, false, &CompareRow::derived);
  return "no metric is worse by more than its threshold, in " +
         format_count(static_cast<std::uint64_t>(counted), "metric");
}

std::string gate_text(const CompareResult& result) {
  const auto of = [&](GateVerdict verdict) { return std::ranges::find(result.gate, verdict, &GateRow::verdict); };
  for (const GateVerdict verdict : {GateVerdict::missed, GateVerdict::absent, GateVerdict::inconclusive}) {
    const auto row = of(verdict);
    if (row == result.gate.end()) continue;
    const char* word = verdict == GateVerdict::inconclusive ? "gate inconclusive" : "gate missed";
    return fmt::format("{}: {} {}", word, row->metric, row->text);
  }
  return fmt::format("gate met: {}", format_count(result.gate.size(), "requirement"));
}

/// "5%", "5 %" or "0.05".
double share(const std::string& text, const std::string& whole) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const double value = parse_decimal(digits).value_or(0) / (percent ? 100 : 1);
  if (value > 0 && value < 1) return value;
  throw usage_error("--threshold: '{}' is not a share between 0 and 1, such as 5% or read.bytes_per_second=3%", whole);
}

}  // namespace

std::string change_text(const CompareRow& row, Unit unit) {
  const std::string values =
      fmt::format("medians {} to {}", metric_text(row.base, unit), metric_text(row.changed, unit));
  if (!row.change.ratio) return values;
  std::string text = fmt::format("typically {}, {}", signed_percent(*row.change.ratio), values);
  if (row.change.interval) {
    text += fmt::format(", between {} and {}", signed_percent(row.change.interval->low),
                        signed_percent(row.change.interval->high));
  }
  if (row.change.p_value) text += fmt::format(", p {:.2g}", *row.change.p_value);
  if (std::min(row.base, row.changed) < row.floor) {
    text += fmt::format("; less than {0} counts as {0}", metric_text(row.floor, unit));
  }
  if (row.derived) text += "; follows from others and does not count";
  return text;
}

std::string verdict_text(const CompareResult& result, const std::optional<std::string>& saved) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (result.verdict) add(fmt::format("{}: {}", enum_name(*result.verdict), reason_of(*result.verdict, result)));
  if (!result.gate.empty()) add(gate_text(result));
  if (saved) {
    add(fmt::format("saved {} of {} as baseline of class '{}' in {}",
                    format_count(result.changed.repetitions, "repetition"), result.changed.verb,
                    result.changed.machine_class, *saved));
  }
  return text;
}

Thresholds::Thresholds(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) {
      common_ = share(text, text);
    } else {
      single_[compare_metric(text.substr(0, sign), "--threshold").name()] = share(text.substr(sign + 1), text);
    }
  }
}

double Thresholds::of(const std::string& metric) const {
  const auto found = single_.find(metric);
  return found == single_.end() ? common_ : found->second;
}

}  // namespace shardkit::bench
