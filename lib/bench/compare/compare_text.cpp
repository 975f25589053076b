#include "bench/compare/compare_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/compare/compare_metrics.hpp"

namespace shardkit {
namespace {

std::string percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }

std::string rows_text(const CompareResult& result, ChangeVerdict verdict) {
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
  return fmt::format("{} is {} in BASE and {} in NEW{}; --allow-different {} compares them all the same", first.key,
                     first.base.empty() ? "not set" : first.base, first.changed.empty() ? "not set" : first.changed,
                     more, fmt::join(keys, ","));
}

std::string comparison_text(const CompareResult& result) {
  const std::string& verdict = *result.verdict;
  if (verdict == "incomparable") return verdict + ": " + incomparable_text(result);
  if (verdict == "regressed") return verdict + ": " + rows_text(result, ChangeVerdict::regressed);
  if (verdict == "improved") return verdict + ": " + rows_text(result, ChangeVerdict::improved);
  if (verdict == "inconclusive") return verdict + ": " + rows_text(result, ChangeVerdict::inconclusive);
  const auto counted = std::ranges::count(result.rows, false, &CompareRow::derived);
  return fmt::format("{}: nothing is worse by more than its threshold, in {}", verdict,
                     format_count(static_cast<std::uint64_t>(counted), "metric"));
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

}  // namespace

std::string change_text(const CompareRow& row, Unit unit) {
  const std::string values = fmt::format("{} to {}", metric_text(row.base, unit), metric_text(row.changed, unit));
  if (!row.change.ratio) return values;
  std::string text = fmt::format("{}: {}", percent(*row.change.ratio), values);
  if (row.change.interval) {
    text += fmt::format(", between {} and {}", percent(row.change.interval->low), percent(row.change.interval->high));
  }
  if (row.change.p_value) text += fmt::format(", p {:.2g}", *row.change.p_value);
  if (std::min(row.base, row.changed) < row.floor) {
    text += fmt::format("; less than {0} counts as {0}", metric_text(row.floor, unit));
  }
  if (row.derived) text += "; follows from the others and does not count";
  return text;
}

std::string verdict_text(const CompareResult& result, const std::optional<std::string>& saved) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (result.verdict) add(comparison_text(result));
  if (!result.gate.empty()) add(gate_text(result));
  if (saved) {
    add(fmt::format("kept {} of {} as baseline of class '{}' in {}",
                    format_count(result.changed.repetitions, "repetition"), result.changed.verb,
                    result.changed.machine_class, *saved));
  }
  return text;
}

}  // namespace shardkit
