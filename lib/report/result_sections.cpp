#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/section_tools.hpp"

/// Sections of what iobench measured on one node.
namespace shardkit::report {
namespace {

Color judged(const std::optional<double>& headroom) {
  if (!headroom) return Color::first;
  return *headroom < 1 ? Color::bad : Color::good;
}

/// Bars of more headroom are cut off, so that the bottleneck can be seen.
constexpr double kMostHeadroom = 2;

std::optional<Section> rates_of_stages(const Source& source) {
  const Json& rows = list_at(source.result, "stages");
  std::vector<Bar> bars;
  bool has_requirement = false;
  for (const Json& row : rows) {
    const auto measured = number_at(row, "measured_per_second");
    if (!measured) continue;
    const auto headroom = number_at(row, "headroom_ratio");
    has_requirement = has_requirement || headroom;
    const std::string stage = text_at(row, "stage").value_or("");
    const double unit = headroom ? *measured / std::max(*headroom, 1e-12) : 1;
    const auto scaled = [&](std::string_view path) {
      const auto value = number_at(row, path);
      return value ? std::optional(headroom ? std::min(*value / unit, kMostHeadroom) : *value) : std::nullopt;
    };
    bars.push_back({stage, rate_text(*measured) + (headroom ? fmt::format(", {:.2f} x needed", *headroom) : ""),
                    headroom ? std::min(*headroom, kMostHeadroom) : *measured, scaled("interval.low"),
                    scaled("interval.high"), headroom ? std::optional(1.0) : std::nullopt,
                    headroom ? judged(headroom) : color_of_stage(stage)});
  }
  if (bars.empty()) return std::nullopt;
  if (has_requirement) std::ranges::stable_sort(bars, {}, &Bar::value);
  Section section{.heading = has_requirement ? "Needed and measured" : "What each stage delivers"};
  section.paragraphs.emplace_back("Samples per second of each stage.");
  section.figures.emplace_back(bar_chart(section.heading, bars),
                               fmt::format("{}A thin line is the interval over repetitions.",
                                           has_requirement ? "The dashed line is what the job needs. Bars end at twice "
                                                             "that; the bottleneck is first. "
                                                           : ""));
  section.table = table_of(rows, {{"stage", "stage"},
                                  {"needed", "required_per_second", Unit::per_second},
                                  {"measured", "measured_per_second", Unit::per_second},
                                  {"interval", "interval", Unit::per_second},
                                  {"headroom", "headroom_ratio", Unit::factor},
                                  {"note", "note"}});
  return section;
}

std::optional<Section> stage_time(const Source& source) {
  const Json* pipeline = stage_of(source, "pipeline");
  if (pipeline == nullptr) return std::nullopt;
  const Json& rows = list_at(*pipeline, "stages");
  std::vector<Stack> stacks;
  double cpu = 0;
  for (const Json& row : rows) cpu += number_at(row, "cpu_seconds_per_sample").value_or(0);
  std::vector<Share> names;
  Stack batch{"CPU time of a batch, by stage", {}};
  for (const Json& row : rows) {
    const auto share = [&](std::string_view name) { return number_at(row, name).value_or(0); };
    const std::string name = text_at(row, "name").value_or("");
    const auto threads = static_cast<std::uint64_t>(std::max(share("threads"), 0.0));
    if (share("busy_ratio") < 0.005) continue;  // such as compute without a job
    stacks.push_back({fmt::format("{} ({})", name, format_count(threads, "thread")),
                      {share("busy_ratio"), share("starved_ratio"), share("blocked_ratio")}});
    if (cpu <= 0 || share("cpu_seconds_per_sample") / cpu < 0.005) continue;
    names.push_back({name, color_of_stage(name)});
    batch.shares.push_back(share("cpu_seconds_per_sample") / cpu);
  }
  if (stacks.empty()) return std::nullopt;
  Section section{.heading = "Where the time of a batch goes"};
  section.paragraphs.push_back(
      "All stages run at once. A stage is busy, starved (it waits for the stage before it) or blocked (it waits for "
      "the stage after it). The bottleneck is the stage that is busiest.");
  const std::array<Share, 3> states{{{"busy", Color::busy}, {"starved", Color::starved}, {"blocked", Color::blocked}}};
  section.figures.push_back(stacked_chart("Time of the threads of each stage", states, stacks));
  if (names.size() > 1) {
    section.figures.push_back(stacked_chart("CPU time of a batch by stage", names, std::span(&batch, 1)));
  }
  section.table = table_of(rows, {{"stage", "name"},
                                  {"threads", "threads", Unit::count},
                                  {"busy", "busy_ratio", Unit::ratio},
                                  {"starved", "starved_ratio", Unit::ratio},
                                  {"blocked", "blocked_ratio", Unit::ratio},
                                  {"CPU time per sample", "cpu_seconds_per_sample", Unit::seconds}});
  return section;
}

/// A curve per stage, all on the time of the whole run.
std::string time_chart(std::string_view title, const Json& rows, std::string_view amount, std::string (*text)(double)) {
  std::vector<Curve> curves;
  for (const std::string& stage : stages_of(rows)) {
    std::vector<Point> points = rates_over_time(rows, stage, amount);
    if (!points.empty()) curves.push_back({stage, std::move(points), color_of_stage(stage), true});
  }
  if (curves.empty()) return {};
  const double start = number_at(rows.front(), "unix_time_seconds").value_or(0);
  const double end = number_at(rows.back(), "unix_time_seconds").value_or(start);
  return line_chart(title, curves,
                    {.x_text = elapsed_text,
                     .y_text = text,
                     .x_name = "time since the first second",
                     .x_range = Point{0, end - start}});
}

/// The rows as the plots show them: rates, and the time since the first one.
Json as_rates(const Json& rows) {
  Json shown = Json::array();
  const double first = rows.empty() ? 0 : number_at(rows.front(), "unix_time_seconds").value_or(0);
  for (const Json& row : rows) {
    Json& copy = shown.emplace_back(row);
    if (!copy.is_object()) continue;
    copy["second"] = number_at(row, "unix_time_seconds").value_or(first) - first;
    const double width = number_at(row, "measured_seconds").value_or(1);
    for (const char* amount : {"bytes", "samples"}) {
      const auto done = number_at(row, amount);
      copy[amount] = done && *done > 0 && width > 0 ? Json(*done / width) : Json();
    }
  }
  return shown;
}

std::optional<Section> over_time(const Source& source) {
  const Json& rows = list_at(source.result, "seconds");
  Section section{.heading = "Over time"};
  for (const auto& [title, value, text] : {std::tuple{"Bytes per second", "bytes", &bytes_rate_text},
                                           std::tuple{"Samples per second", "samples", &rate_text}}) {
    const std::string figure = time_chart(fmt::format("{} over time", title), rows, value, text);
    if (!figure.empty()) section.figures.emplace_back(figure, title);
  }
  if (section.figures.empty()) return std::nullopt;
  section.paragraphs.push_back("Each second of the run, by stage: means hide stalls.");
  section.table = table_of(as_rates(rows), {{"second", "second", Unit::count},
                                            {"stage", "stage"},
                                            {"bytes/s", "bytes", Unit::bytes_per_second},
                                            {"samples/s", "samples", Unit::per_second},
                                            {"measured for", "measured_seconds", Unit::seconds}});
  return section;
}

void add_latency(const Json& object, std::string_view what, Section& section) {
  if (!number_at(object, "p50")) return;
  std::vector<std::string> row{std::string(what)};
  for (const std::string_view name : {"mean", "p50", "p90", "p99", "max"}) {
    row.push_back(shown(member(object, name), Unit::seconds));
  }
  section.table.rows.push_back(row);
}

std::optional<Section> latency(const Source& source) {
  Section section{.heading = "Latency"};
  section.table.columns = {"what", "mean", "p50", "p90", "p99", "max"};
  std::vector<Bar> bars;
  if (const Json* read = stage_of(source, "read")) {
    if (const Json* values = member(*read, "latency_seconds")) add_latency(*values, "one read", section);
    double all = 0;
    for (const Json& step : list_at(*read, "latency_histogram")) all += number_at(step, "count").value_or(0);
    for (const Json& step : list_at(*read, "latency_histogram")) {
      const double count = number_at(step, "count").value_or(0);
      bars.push_back({fmt::format("{} to {}", seconds_text(number_at(step, "from_seconds").value_or(0)),
                                  seconds_text(number_at(step, "to_seconds").value_or(0))),
                      fmt::format("{} {}, {:.1f} %", count_text(count), count == 1 ? "read" : "reads",
                                  count / std::max(all, 1.0) * 100),
                      count});
    }
  }
  if (const Json* pipeline = stage_of(source, "pipeline")) {
    if (const Json* values = member(*pipeline, "batch_latency_seconds")) add_latency(*values, "one batch", section);
  }
  if (section.table.rows.empty()) return std::nullopt;
  section.table = without_empty_columns(section.table);
  section.paragraphs.push_back(
      "p99 means that 99 of 100 took at most this long. Percentiles are upper ends of histogram steps of less than 1 "
      "%; mean and max are exact.");
  if (!bars.empty()) section.figures.emplace_back(bar_chart("Reads by latency", bars), "Reads by their latency");
  return section;
}

std::string bytes_text(double bytes) { return format_rounded_size(bytes); }

struct CurveRows {
  std::string_view title;
  std::string_view x;  ///< member with the setting
  std::string_view y;  ///< member with the rate
  std::string_view x_name;
  std::string (*x_text)(double) = count_text;
};

/// Rates over a setting, and their knee: the first with 95 % of the best.
std::string setting_chart(const Json& rows, const CurveRows& wanted, std::string (*text)(double)) {
  Curve curve{"", {}, Color::first, true};
  double best = 0;
  for (const Json& row : rows) {
    const auto x = number_at(row, wanted.x);
    const auto y = number_at(row, wanted.y);
    if (!x || !y) continue;
    curve.points.push_back({*x, *y});
    best = std::max(best, *y);
  }
  std::ranges::stable_sort(curve.points, {}, &Point::x);
  const auto knee = std::ranges::find_if(curve.points, [&](const Point& point) { return point.y >= 0.95 * best; });
  if (curve.points.size() < 2 || knee == curve.points.end()) return {};
  const bool doubles = curve.points.front().x > 0;
  Axes axes{.x_text = wanted.x_text,
            .y_text = text,
            .x_name = std::string(wanted.x_name),
            .logarithmic_x = doubles,
            .ticks_at_points = true};
  axes.marks.push_back({knee->x, "knee: " + wanted.x_text(knee->x)});
  return line_chart(wanted.title, std::span(&curve, 1), axes);
}

Json rows_of_setting(const Json& rows, const std::string& parameter) {
  Json chosen = Json::array();
  for (const Json& row : rows) {
    if (text_at(row, "parameter") == parameter) chosen.push_back(row);
  }
  return chosen;
}

std::optional<Section> sweep(const Source& source) {
  const Json& rows = list_at(source.result, "rows");
  Section section{.heading = "Curves of settings"};
  for (const std::string parameter : {"threads", "block", "depth", "workers", "prefetch"}) {
    const Json chosen = rows_of_setting(rows, parameter);
    const bool reads = !chosen.empty() && number_at(chosen.front(), "bytes_per_second");
    const std::string title = "Rate over " + parameter;
    section.figures.emplace_back(setting_chart(chosen,
                                               {title, "value", reads ? "bytes_per_second" : "samples_per_second",
                                                parameter, parameter == "block" ? bytes_text : count_text},
                                               reads ? bytes_rate_text : rate_text));
  }
  if (std::ranges::all_of(section.figures, [](const Figure& figure) { return figure.svg.empty(); }))
    return std::nullopt;
  section.paragraphs.push_back("The knee is the first value with 95 % of the best rate; more gains nothing.");
  section.table = table_of(rows, {{"setting", "parameter"},
                                  {"value", "value", Unit::count},
                                  {"bytes/s", "bytes_per_second", Unit::bytes_per_second},
                                  {"samples/s", "samples_per_second", Unit::per_second},
                                  {"knee", "knee"}});
  return section;
}

/// The rates of a stage over one of its settings; empty for less than two of them.
std::optional<Section> curve_section(const Source& source, std::string_view stage, std::string_view list,
                                     std::string heading, const CurveRows& wanted, std::string (*text)(double),
                                     std::initializer_list<Column> columns) {
  const Json* part = stage_of(source, stage);
  if (part == nullptr) return std::nullopt;
  const Json& rows = list_at(*part, list);
  std::string figure = setting_chart(rows, wanted, text);
  if (figure.empty()) return std::nullopt;
  Section section{.heading = std::move(heading), .figures = {std::move(figure)}};
  section.table = table_of(rows, columns);
  return section;
}

std::optional<Section> scaling(const Source& source) {
  return curve_section(source, "decode", "scaling", "Scaling of decoding",
                       {"Decoding rate over threads", "threads", "samples_per_second", "threads"}, rate_text,
                       {{"threads", "threads", Unit::count},
                        {"samples/s", "samples_per_second", Unit::per_second},
                        {"speedup", "speedup", Unit::factor},
                        {"efficiency", "efficiency_ratio", Unit::ratio}});
}

std::optional<Section> store_levels(const Source& source) {
  return curve_section(source, "read", "store.levels", "Connections to the store",
                       {"Rate over connections", "connections", "bytes_per_second", "connections"}, bytes_rate_text,
                       {{"connections", "connections", Unit::count},
                        {"bytes/s", "bytes_per_second", Unit::bytes_per_second},
                        {"first byte, p50", "ttfb_p50_seconds", Unit::seconds},
                        {"first byte, p99", "ttfb_p99_seconds", Unit::seconds},
                        {"retries", "retries", Unit::count}});
}

std::optional<Section> prefetch(const Source& source) {
  return curve_section(source, "pipeline", "prefetches", "Prefetch",
                       {"Rate over prefetch", "prefetch", "samples_per_second", "batches of prefetch"}, rate_text,
                       {{"prefetch", "prefetch", Unit::count},
                        {"samples/s", "samples_per_second", Unit::per_second},
                        {"stall", "stall_ratio", Unit::ratio},
                        {"bottleneck", "limiting_stage"}});
}

/// If the first epoch read storage, and the others what stayed in memory: cold against warm.
std::optional<Section> epochs(const Source& source) {
  const Json* pipeline = stage_of(source, "pipeline");
  if (pipeline == nullptr || list_at(*pipeline, "epochs").size() < 2) return std::nullopt;
  const Json& rows = list_at(*pipeline, "epochs");
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const double rate = number_at(row, "samples_per_second").value_or(0);
    const std::string cached = shown(member(row, "residency_before_ratio"), Unit::ratio);
    bars.push_back({fmt::format("epoch {}{}", shown(member(row, "epoch"), Unit::count),
                                cached.empty() ? "" : fmt::format(", {} in the page cache", cached)),
                    rate_text(rate), rate});
  }
  constexpr double kMostCold = 0.1;
  const bool is_cold = number_at(rows.front(), "residency_before_ratio").value_or(1) < kMostCold;
  Section section{.heading = is_cold ? "Cold against warm" : "Epochs",
                  .figures = {bar_chart("Samples per second by epoch", bars)}};
  section.table = table_of(rows, {{"epoch", "epoch", Unit::count},
                                  {"in the page cache before", "residency_before_ratio", Unit::ratio},
                                  {"samples/s", "samples_per_second", Unit::per_second},
                                  {"first batch", "first_batch_seconds", Unit::seconds},
                                  {"stall", "stall_ratio", Unit::ratio},
                                  {"stall at the boundary", "boundary_stall_seconds", Unit::seconds}});
  return section;
}

/// The value of a metric in a repetition of `verb`, which has that of a stage below the stage's name.
std::optional<double> value_in(const Json& repetition, const std::string& verb, std::string_view metric) {
  const bool own = metric.starts_with(verb + ".");
  return number_at(repetition, own ? metric.substr(verb.size() + 1) : metric);
}

std::optional<Section> repeated(const Source& source) {
  const Json& rows = list_at(source.result, "repeated");
  if (rows.empty()) return std::nullopt;
  std::vector<Range> ranges;
  for (const Json& row : rows) {
    const double median = number_at(row, "median").value_or(0);
    const std::string metric = text_at(row, "metric").value_or("");
    if (median <= 0) continue;
    const auto relative = [&](std::string_view path) -> std::optional<double> {
      const auto value = number_at(row, path);
      return value ? std::optional(*value / median - 1) : std::nullopt;
    };
    ranges.push_back(
        {metric_words(metric),
         fmt::format("{} to {}", percent_text(relative("low").value_or(0)), percent_text(relative("high").value_or(0))),
         0, relative("low"), relative("high")});
    for (const Json& repetition : list_at(source.result, "repetitions")) {
      if (const auto value = value_in(repetition, source.verb, metric))
        ranges.back().after.push_back(*value / median - 1);
    }
  }
  Section section{.heading = "Repetitions", .figures = {range_chart("Spread of the repetitions", ranges)}};
  section.paragraphs.push_back("Interval of the median of each metric, relative to it. A dot is a repetition.");
  section.table = table_of(rows, {{"metric", "metric"}, {"median, interval, and what to expect again", "text"}});
  return section;
}

std::optional<Section> findings(const Source& source) {
  const Json* environment = stage_of(source, source.verb == "env" ? "env" : "environment");
  if (environment == nullptr) return std::nullopt;
  Section section{.heading = "Environment"};
  const Json& rows = list_at(*environment, "findings");
  section.table = table_of(rows, {{"severity", "severity"},
                                  {"finding", "text"},
                                  {"measured", "measured"},
                                  {"normal", "normal"},
                                  {"remedy", "remedy"}});
  section.paragraphs.push_back(rows.empty()
                                   ? "No findings: nothing in the environment costs speed."
                                   : "These findings cost speed or distort measurements. The most severe are first.");
  return section;
}

std::optional<Section> machine(const Source& source) {
  if (source.verb == "pipeline") return std::nullopt;  // its result has no storage, and its GPUs are those of the job
  const Json* environment = stage_of(source, source.verb == "env" ? "env" : "environment");
  const Json* read = stage_of(source, "read");
  const Json& facts = environment != nullptr ? *environment : read != nullptr ? *read : source.result;
  Section section{.heading = "Machine"};
  section.table = facts_of(facts, {{"data", "path"},
                                   {"file system", "storage.file_system"},
                                   {"storage", "storage.storage_class"},
                                   {"mount point", "storage.mount_point"},
                                   {"mount options", "storage.mount_options"},
                                   {"read-ahead", "storage.read_ahead_bytes", Unit::bytes},
                                   {"disk", "block_device.model"},
                                   {"scheduler", "block_device.scheduler"},
                                   {"CPU", "cpu.model"},
                                   {"cores", "cpu.cores", Unit::count},
                                   {"available threads", "usable_threads", Unit::count},
                                   {"CPU limit", "cpu_limit", Unit::none},
                                   {"available memory", "usable_memory_bytes", Unit::bytes},
                                   {"/dev/shm", "dev_shm_size_bytes", Unit::bytes},
                                   {"GPUs", "gpus", Unit::count},
                                   {"GPU driver", "gpu_driver"},
                                   {"virtual machine", "kernel.virtual_machine"},
                                   {"container", "kernel.container"},
                                   {"page cache", "cache.state"}});
  return section.table.rows.size() < 2 ? std::nullopt : std::optional(section);
}

std::optional<Section> presets(const Source& source) {
  const Json& rows = list_at(source.result, "presets");
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const auto fed = number_at(row, "gpus_fed");
    if (fed) bars.push_back({text_at(row, "name").value_or(""), count_text(*fed) + " GPUs", *fed});
  }
  if (rows.empty()) return std::nullopt;
  Section section{.heading = bars.empty() ? "Published workloads" : "GPUs that this node can feed"};
  section.paragraphs.push_back("Published workloads, at their required utilization.");
  if (!bars.empty()) section.figures.emplace_back(bar_chart(section.heading, bars));
  section.table = table_of(rows, {{"preset", "name"},
                                  {"GPUs fed", "gpus_fed", Unit::count},
                                  {"samples/s per GPU", "samples_per_second", Unit::per_second},
                                  {"bytes/s per GPU", "bytes_per_second", Unit::bytes_per_second},
                                  {"source", "edition"}});
  return section;
}

std::optional<Section> transfer(const Source& source) {
  const Json* stage = stage_of(source, "transfer");
  if (stage == nullptr) return std::nullopt;
  Section section{.heading = "Copies to the GPUs"};
  section.table = table_of(list_at(*stage, "rows"), {{"GPU", "gpu"},
                                                     {"memory", "kind"},
                                                     {"direction", "direction"},
                                                     {"bytes", "bytes", Unit::bytes},
                                                     {"rate", "bytes_per_second", Unit::bytes_per_second}});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

std::optional<Section> loader(const Source& source) {
  const std::string code = text_at(source.result, "loader.code").value_or("");
  if (code.empty()) return std::nullopt;
  Section section{.heading = "PyTorch DataLoader", .code = code};
  if (const auto rate = number_at(source.result, "loader.samples_per_second")) {
    section.paragraphs.push_back(fmt::format("Delivers about {}, and needs {} of /dev/shm.", rate_text(*rate),
                                             shown(member(source.result, "loader.dev_shm_needed_bytes"), Unit::bytes)));
  }
  return section;
}

std::optional<Section> hints(const Source& source) {
  Section section{.heading = "Hints and warnings"};
  section.table.columns = {"kind", "text"};
  const auto add = [&](const Json& items, const char* kind) {
    for (const Json& item : items) {
      const std::string text = item.is_string() ? item.get<std::string>() : text_at(item, "text").value_or("");
      if (!text.empty()) section.table.rows.push_back({kind, text});
    }
  };
  add(list_at(source.envelope, "warnings"), "warning");
  add(list_at(source.result, "hints"), "hint");
  for (const std::string_view stage : {"read", "pipeline"}) {
    const Json* part = stage_of(source, stage);
    if (part == nullptr) continue;
    if (part != &source.result) add(list_at(*part, "hints"), "hint");
    add(list_at(*part, "advice"), "advice");
  }
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

}  // namespace

std::span<const SectionOf> result_sections() {
  static constexpr auto sections =
      std::to_array<SectionOf>({rates_of_stages, stage_time, over_time, latency, sweep, scaling, store_levels, prefetch,
                                epochs, repeated, transfer, findings, machine, presets, hints, loader});
  return sections;
}

}  // namespace shardkit::report
