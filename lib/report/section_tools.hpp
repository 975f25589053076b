#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/json_fields.hpp"
#include "core/units.hpp"
#include "report/charts.hpp"
#include "report/page.hpp"

/// What the sections of a page have in common. A section is a function of an envelope: it reads members by their paths,
/// and is empty if the envelope has none of them.
namespace shardkit::report {

using Json = nlohmann::json;

/// An envelope with the member that most sections need.
struct Source {
  const Json& envelope;
  const Json& result;  ///< an empty object for a failed run
  std::string verb;
  const Beside& beside;
};

using SectionOf = std::optional<Section> (*)(const Source& source);

/// What a stage measured: the result of its own verb, or its part in the result of another; null without one.
const Json* stage_of(const Source& source, std::string_view stage);

/// The items at a path; an empty list if there is no list.
const Json& list_at(const Json& object, std::string_view path);

/// A number as people read it: "1.20 GB/s", "64.0 MiB", "97.3 %", "12,000".
std::string shown(double value, Unit unit);

/// "-3.1 %"; what would be "-0.0 %" is "0.0 %". `with_sign`: "+3.1 %" too.
std::string percent(double ratio, bool with_sign);

/// A scalar, a list of scalars or an interval as text; empty for null.
std::string shown(const Json* value, Unit unit);

struct Column {
  std::string_view heading;
  std::string_view path;
  Unit unit = Unit::none;
};

/// Leaves out columns that are empty in all rows.
Table without_empty_columns(const Table& table);

/// A row for each item; columns that are empty in all rows are left out. Of more than kMostRows items only that many,
/// evenly chosen.
Table table_of(const Json& items, std::initializer_list<Column> columns);
inline constexpr std::size_t kMostRows = 1000;

/// A row for each member of `object` that exists: its heading and its value.
Table facts_of(const Json& object, std::initializer_list<Column> members);

/// The color of a stage, the same in all plots of a page.
Color color_of_stage(std::string_view stage);

/// What a stage did in each second since the first row: `amount` ("bytes", "samples") per second. Empty if it has none
/// in all of them.
std::vector<Point> rates_over_time(const Json& rows, std::string_view stage, std::string_view amount);

/// The stages of such rows, in the order of their first ones.
std::vector<std::string> stages_of(const Json& rows);

/// The unit of a metric by its name: "read.bytes_per_second".
Unit unit_of_metric(std::string_view metric);

/// Formatters of axes.
std::string rate_text(double value);
std::string bytes_rate_text(double value);
std::string count_text(double value);
std::string seconds_text(double value);
std::string percent_text(double value);
std::string elapsed_text(double seconds);
/// "14:05": the time of day in UTC.
std::string clock_text(double unix_seconds);

/// A metric's name in words: "decode samples/s per core" for "decode.samples_per_second_per_core".
std::string metric_words(std::string_view metric);
std::string (*axis_text(Unit unit))(double);

/// The sections of all results, in the order of a page. Defined in the files that are named after their subjects.
std::span<const SectionOf> comparison_sections();
std::span<const SectionOf> verb_sections();
std::span<const SectionOf> result_sections();
std::span<const SectionOf> dataset_sections();
std::span<const SectionOf> fleet_sections();

}  // namespace shardkit::report
