#include "report/section_tools.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

Table table_of(const Json& items, std::initializer_list<Column> columns) {
  Table table;
  const std::size_t step = std::max<std::size_t>((items.size() + kMostRows - 1) / kMostRows, 1);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < items.size(); i += step) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(shown(member(items[i], column.path), column.unit));
  }
  table.rows.resize(rows.size());
  std::size_t index = 0;
  for (const Column& column : columns) {
    const auto has = [&](const std::vector<std::string>& row) { return !row[index].empty(); };
    if (std::ranges::any_of(rows, has)) {
      table.columns.emplace_back(column.heading);
      for (std::size_t row = 0; row < rows.size(); ++row) table.rows[row].push_back(rows[row][index]);
    }
    ++index;
  }
  return table;
}

Table facts_of(const Json& object, std::initializer_list<Column> members) {
  Table table{{"what", "value"}, {}};
  for (const Column& wanted : members) {
    const std::string value = shown(member(object, wanted.path), wanted.unit);
    if (!value.empty()) table.rows.push_back({std::string(wanted.heading), value});
  }
  return table;
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
std::string seconds_text(double value) { return metric_text(value, Unit::seconds); }

}  // namespace shardkit::report
