#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/section_tools.hpp"

/// Sections of what shardctl found out about sets of shards.
namespace shardkit::report {
namespace {

std::optional<Section> set_facts(const Source& source) {
  Section section{.heading = "The set"};
  if (!number_at(source.result, "shards")) return std::nullopt;
  section.table = facts_of(source.result, {{"shards", "shards", Unit::count},
                                           {"samples", "samples", Unit::count},
                                           {"members", "members", Unit::count},
                                           {"bytes", "bytes", Unit::bytes},
                                           {"skipped", "skipped", Unit::count},
                                           {"bad files", "bad", Unit::count},
                                           {"unlabelled", "unlabelled", Unit::count},
                                           {"classes", "class_balance.classes", Unit::count},
                                           {"smallest class", "class_balance.smallest", Unit::count},
                                           {"largest class", "class_balance.largest", Unit::count},
                                           {"fewest classes in a shard", "classes_per_shard.min", Unit::count},
                                           {"shuffle buffer, samples", "shuffle_buffer_samples", Unit::count},
                                           {"shuffle buffer", "shuffle_buffer_bytes", Unit::bytes},
                                           {"checked", "checked"},
                                           {"depth", "depth"},
                                           {"samples per second", "files_per_second", Unit::per_second},
                                           {"rate", "bytes_per_second", Unit::bytes_per_second}});
  return section;
}

/// Of errors and warnings, those of a shard together.
std::optional<Section> problems(const Source& source) {
  const Json& rows = list_at(source.result, "problems");
  if (rows.empty()) return std::nullopt;
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const std::string shard = text_at(row, "shard").value_or("");
    auto bar = std::ranges::find(bars, shard, &Bar::label);
    if (bar == bars.end()) bar = bars.insert(bars.end(), Bar{.label = shard, .text = {}});
    bar->value += 1;
    bar->color = text_at(row, "severity") == "error" || bar->color == Color::bad ? Color::bad : Color::unclear;
  }
  std::ranges::stable_sort(bars, std::ranges::greater(), &Bar::value);
  constexpr std::size_t kMostBars = 30;
  if (bars.size() > kMostBars) bars.resize(kMostBars);
  for (Bar& bar : bars) bar.text = count_text(bar.value);
  Section section{.heading = "Problems by shard", .figures = {bar_chart("Problems by shard", bars)}};
  section.table = table_of(rows, {{"severity", "severity"},
                                  {"code", "code"},
                                  {"shard", "shard"},
                                  {"offset", "offset", Unit::count},
                                  {"key", "key"},
                                  {"problem", "text"}});
  return section;
}

std::optional<Section> remedies(const Source& source) {
  std::string code;
  for (const Json& remedy : list_at(source.result, "remedies")) {
    if (remedy.is_string()) code += remedy.get<std::string>() + "\n";
  }
  return code.empty() ? std::nullopt : std::optional(Section{.heading = "Remedies", .code = code});
}

std::optional<Section> histogram(const Source& source, std::string_view heading, std::string_view path, Unit unit) {
  const Json* values = member(source.result, path);
  std::vector<Bar> bars;
  if (values != nullptr) {
    for (const Json& step : list_at(*values, "histogram")) {
      const double count = number_at(step, "values").value_or(0);
      bars.push_back({fmt::format("{} to {}", shown(member(step, "from"), unit), shown(member(step, "to"), unit)),
                      count_text(count), count});
    }
  }
  if (bars.empty()) return std::nullopt;
  Section section{.heading = std::string(heading), .figures = {bar_chart(heading, bars)}};
  section.table = table_of(list_at(*values, "histogram"),
                           {{"from", "from", unit}, {"to", "to", unit}, {"number", "values", Unit::count}});
  section.paragraphs.push_back(fmt::format("From {} to {}, median {}.", shown(member(*values, "min"), unit),
                                           shown(member(*values, "max"), unit),
                                           shown(member(*values, "median"), unit)));
  return section;
}

std::optional<Section> sample_sizes(const Source& source) {
  return histogram(source, "Sizes of samples", "sample_size_bytes", Unit::bytes);
}

std::optional<Section> shard_sizes(const Source& source) {
  return histogram(source, "Samples per shard", "samples_per_shard", Unit::count);
}

std::optional<Section> classes(const Source& source) {
  constexpr std::size_t kMostBars = 50;
  const Json& rows = list_at(source.result, "classes");
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const double samples = number_at(row, "samples").value_or(0);
    const std::string name = text_at(row, "name").value_or("");
    bars.push_back(
        {name.empty() ? "class " + shown(member(row, "label"), Unit::count) : name, count_text(samples), samples});
  }
  if (bars.empty()) return std::nullopt;
  std::ranges::stable_sort(bars, {}, &Bar::value);
  Section section{.heading = "Balance of classes"};
  if (bars.size() > kMostBars) {
    section.paragraphs.push_back(
        fmt::format("The {} smallest of {} classes.", kMostBars, count_text(double(bars.size()))));
    bars.resize(kMostBars);
  }
  section.figures.push_back(bar_chart("Samples per class", bars));
  section.table =
      table_of(rows, {{"label", "label", Unit::count}, {"class", "name"}, {"samples", "samples", Unit::count}});
  return section;
}

std::optional<Section> phases(const Source& source) {
  const Json* values = member(source.result, "phases_seconds");
  if (values == nullptr || !values->is_object()) return std::nullopt;
  std::vector<Bar> bars;
  for (const auto& [name, value] : values->items()) {
    if (value.is_number()) bars.push_back({name, seconds_text(value.get<double>()), value.get<double>()});
  }
  if (bars.empty()) return std::nullopt;
  Section section{.heading = "Time by phase", .figures = {bar_chart("Seconds by phase", bars)}};
  section.paragraphs.push_back("Time of all threads together.");
  return section;
}

std::optional<Section> left_out(const Source& source) {
  for (const std::string_view list : {"skipped_files", "bad_files"}) {
    const Json& rows = list_at(source.result, list);
    if (rows.empty()) continue;
    Section section{.heading = "Files left out"};
    section.table = table_of(rows, {{"file", "path"}, {"reason", "reason"}, {"code", "code"}, {"text", "text"}});
    if (!section.table.columns.empty()) return section;
  }
  return std::nullopt;
}

}  // namespace

std::span<const SectionOf> dataset_sections() {
  static constexpr auto sections =
      std::to_array<SectionOf>({problems, remedies, set_facts, sample_sizes, shard_sizes, classes, phases, left_out});
  return sections;
}

}  // namespace shardkit::report
