#include "report/section_tools.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_fields.hpp"
#include "core/metric_text.hpp"

namespace shardkit::report {

const Json* stage_of(const Source& source, std::string_view stage) {
  if (source.verb == stage) return &source.result;
  const Json* part = member(source.result, stage);
  return part != nullptr && part->is_object() ? part : nullptr;
}

const Json& list_at(const Json& object, std::string_view path) {
  static const Json empty = Json::array();
  const Json* list = member(object, path);
  return list != nullptr && list->is_array() ? *list : empty;
}

std::string percent(double ratio, bool with_sign) {
  const double least = 0.0005;  // a smaller one is shown as 0, which has no sign
  const double percent = std::abs(ratio) < least ? 0 : ratio * 100;
  return with_sign && percent != 0 ? fmt::format("{:+.1f} %", percent) : fmt::format("{:.1f} %", percent);
}

std::string shown(double value, Unit unit) {
  if (!std::isfinite(value)) return "unknown";
  switch (unit) {
    case Unit::bytes:
      return format_rounded_size(value);
    case Unit::ratio:
      return percent(value, false);
    case Unit::factor:
      return fmt::format("{:.2f} x", value);
    case Unit::seconds:
      return seconds_text(value);
    case Unit::none:
    case Unit::count:
      return value == std::floor(value) && value >= 0 ? format_rounded_count(value) : fmt::format("{:.3g}", value);
    default:
      return metric_text(value, unit);
  }
}

std::string shown(const Json* value, Unit unit) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_number()) return shown(value->get<double>(), unit);
  if (value->is_boolean()) return value->get<bool>() ? "yes" : "no";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_object()) {
    const std::string low = shown(member(*value, "low"), unit);
    return low.empty() ? low : fmt::format("{} to {}", low, shown(member(*value, "high"), unit));
  }
  std::string list;
  for (const Json& item : *value) {
    if (item.is_structured()) return {};
    list += (list.empty() ? "" : ", ") + shown(&item, unit);
  }
  return list;
}

Table without_empty_columns(const Table& table) {
  Table kept;
  kept.rows.resize(table.rows.size());
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (std::ranges::all_of(table.rows, [&](const auto& row) { return row[column].empty(); })) continue;
    kept.columns.push_back(table.columns[column]);
    for (std::size_t row = 0; row < table.rows.size(); ++row) kept.rows[row].push_back(table.rows[row][column]);
  }
  return kept;
}

Table table_of(const Json& items, std::initializer_list<Column> columns) {
  Table table;
  for (const Column& column : columns) table.columns.emplace_back(column.heading);
  const std::size_t step = std::max<std::size_t>((items.size() + kMostRows - 1) / kMostRows, 1);
  for (std::size_t i = 0; i < items.size(); i += step) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const Column& column : columns) row.push_back(shown(member(items[i], column.path), column.unit));
  }
  return without_empty_columns(table);
}

Table facts_of(const Json& object, std::initializer_list<Column> members) {
  Table table{{"what", "value"}, {}};
  for (const Column& wanted : members) {
    const std::string value = shown(member(object, wanted.path), wanted.unit);
    if (!value.empty()) table.rows.push_back({std::string(wanted.heading), value});
  }
  return table;
}

std::vector<Point> rates_over_time(const Json& rows, std::string_view stage, std::string_view amount) {
  std::vector<Point> points;
  bool has_any = false;
  const double start = rows.empty() ? 0 : number_at(rows.front(), "unix_time_seconds").value_or(0);
  for (const Json& row : rows) {
    const auto at = number_at(row, "unix_time_seconds");
    const auto done = number_at(row, amount);
    const double width = number_at(row, "measured_seconds").value_or(1);
    if (!at || !done || width <= 0 || text_at(row, "stage").value_or("") != stage) continue;
    points.push_back({*at - start, *done / width});  // also 0: a stall
    has_any = has_any || *done > 0;
  }
  return has_any ? points : std::vector<Point>();
}

std::vector<std::string> stages_of(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) {
    const std::string stage = text_at(row, "stage").value_or("");
    if (std::ranges::find(names, stage) == names.end()) names.push_back(stage);
  }
  return names;
}

Unit unit_of_metric(std::string_view metric) {
  if (metric.ends_with("bytes_per_second")) return Unit::bytes_per_second;
  if (metric.find("_per_second") != std::string_view::npos) return Unit::per_second;
  return metric.find("seconds") != std::string_view::npos ? Unit::seconds : Unit::none;
}

Color color_of_stage(std::string_view stage) {
  using enum Color;
  constexpr std::array<std::pair<std::string_view, Color>, 7> kStages{{{"read", first},
                                                                       {"unpack", first},
                                                                       {"decode", second},
                                                                       {"augment", third},
                                                                       {"pipeline", fourth},
                                                                       {"transfer", fifth},
                                                                       {"compute", unclear}}};
  const auto found = std::ranges::find(kStages, stage, &std::pair<std::string_view, Color>::first);
  return found == kStages.end() ? first : found->second;
}

std::string rate_text(double value) { return metric_text(value, Unit::per_second); }
std::string bytes_rate_text(double value) { return format_rate(value); }
std::string count_text(double value) { return shown(value, Unit::count); }
std::string seconds_text(double value) {
  constexpr double kMicroseconds = 1e-4;  // below it, milliseconds have leading zeros
  const bool is_tiny = value != 0 && std::abs(value) < kMicroseconds;
  return is_tiny ? fmt::format("{:.3g} us", value * 1e6) : metric_text(value, Unit::seconds);
}
std::string percent_text(double value) { return signed_percent(value, 0.0005); }
std::string clock_text(double unix_seconds) {
  const auto minutes = static_cast<std::int64_t>(std::floor(unix_seconds / 60)) % (24 * 60);
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}
std::string metric_words(std::string_view metric) {
  std::string words(metric);
  for (const auto& [part, text] :
       {std::pair{"_per_second", "/s"}, {"_seconds", ""}, {"_ratio", ""}, {"_", " "}, {".", " "}}) {
    for (std::size_t at = words.find(part); at != std::string::npos; at = words.find(part, at)) {
      words.replace(at, std::string_view(part).size(), text);
    }
  }
  return words;
}
std::string elapsed_text(double seconds) { return fmt::format("{:.0f} s", seconds); }

std::string (*axis_text(Unit unit))(double) {
  return unit == Unit::bytes_per_second ? bytes_rate_text
         : unit == Unit::per_second     ? rate_text
         : unit == Unit::seconds        ? seconds_text
                                        : count_text;
}

}  // namespace shardkit::report
