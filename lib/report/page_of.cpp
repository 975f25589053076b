#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.hpp"
#include "core/units.hpp"
#include "report/section_tools.hpp"

namespace shardkit::report {
namespace {

/// More than this is left out of a page, which is at most about twice as large.
constexpr std::size_t kMostAttached = 1'000'000;

/// The first text that says how it ended.
std::string headline_of(const Source& source) {
  if (const auto error = text_at(source.envelope, "error.text")) return *error;
  for (const std::string_view path : {"verdict.text", "text", "verdict", "reason"}) {
    const auto text = text_at(source.result, path);
    if (text && !text->empty()) return *text;
  }
  if (const auto errors = number_at(source.result, "errors"); errors && source.verb == "env") {
    return fmt::format("{} errors, {} warnings", *errors, number_at(source.result, "warnings").value_or(0));
  }
  if (const auto samples = number_at(source.result, "samples"); samples && number_at(source.result, "shards")) {
    return fmt::format("{} samples in {} shards, {}", count_text(*samples),
                       shown(member(source.result, "shards"), Unit::count),
                       shown(member(source.result, "bytes"), Unit::bytes));
  }
  std::string rates;
  for (const auto& [path, unit] :
       {std::pair{"samples_per_second", Unit::per_second}, std::pair{"files_per_second", Unit::per_second},
        std::pair{"bytes_per_second", Unit::bytes_per_second}}) {
    const std::string rate = shown(member(source.result, path), unit);
    if (!rate.empty()) rates += (rates.empty() ? "" : ", ") + rate;
  }
  return rates.empty() ? text_at(source.envelope, "status").value_or("unknown") : rates;
}

Tone tone_of(const Source& source) {
  const std::string status = text_at(source.envelope, "status").value_or("");
  if (status == "failed" || status == "findings") return Tone::bad;
  const std::string verdict = text_at(source.result, "verdict").value_or("");
  if (verdict == "inconclusive" || !text_at(source.result, "neighbors.text").value_or("").empty()) return Tone::unclear;
  const Json* ok = member(source.result, "verdict.ok");
  const Json* requirement = member(source.result, "requirement");
  const bool judged = ok != nullptr && requirement != nullptr && requirement->is_object();
  return judged || verdict == "pass" || verdict == "improved" ? Tone::good : Tone::neutral;
}

std::vector<std::pair<std::string, std::string>> facts(const Source& source) {
  constexpr std::array<Column, 8> kFacts{{{"Node", "host.node"},
                                          {"Host", "host.hostname"},
                                          {"Started", "started_at"},
                                          {"Took", "elapsed_seconds", Unit::seconds},
                                          {"System", "host.os"},
                                          {"Kernel", "host.kernel"},
                                          {"CPUs", "host.cpus", Unit::count},
                                          {"Memory", "host.memory_bytes", Unit::bytes}}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const Column& fact : kFacts) {
    const std::string value = shown(member(source.envelope, fact.path), fact.unit);
    if (!value.empty()) all.emplace_back(fact.heading, value);
  }
  if (all.size() > 1 && all[0].first == "Node" && all[0].second == all[1].second) all.erase(all.begin());
  const auto version = text_at(source.envelope, "tool.version");
  if (version)
    all.emplace_back("Version", fmt::format("{} {}", text_at(source.envelope, "tool.name").value_or(""), *version));
  if (const Json* labels = member(source.envelope, "host.labels"); labels != nullptr && labels->is_object()) {
    for (const auto& [name, value] : labels->items()) all.emplace_back(name, shown(&value, Unit::none));
  }
  return all;
}

}  // namespace

Page page_of(const Json& envelope) {
  static const Json nothing = Json::object();
  const Json* result = member(envelope, "result");
  const Source source{
      envelope, result != nullptr && result->is_object() ? *result : nothing,
      text_at(envelope, "schema").value_or("/").substr(text_at(envelope, "schema").value_or("/").find('/') + 1)};
  Page page{.kind = fmt::format("{} {}", text_at(envelope, "tool.name").value_or("shardkit"), source.verb),
            .headline = headline_of(source),
            .tone = tone_of(source)};
  for (const std::string_view path : {"verdict.remedy", "disturbance", "neighbors.text"}) {
    const std::string remark = text_at(source.result, path).value_or("");
    if (!remark.empty() && page.headline.find(remark) == std::string::npos) page.remarks.push_back(remark);
  }
  page.facts = facts(source);
  for (const auto sections : {fleet_sections(), result_sections(), dataset_sections()}) {
    for (const SectionOf make : sections) {
      if (std::optional<Section> section = make(source)) page.sections.push_back(std::move(*section));
    }
  }
  if (const std::string command = text_at(source.result, "command").value_or(""); !command.empty()) {
    page.sections.push_back({.heading = "Same again", .code = command});
  }
  std::string attachment = json_text(envelope);
  if (attachment.size() <= kMostAttached) {
    page.attachment = std::move(attachment);
  } else {
    const std::string size = format_size(attachment.size());
    page.sections.push_back(
        {.heading = "JSON", .paragraphs = {size + " of JSON are too large for a page: keep the file."}});
  }
  return page;
}

}  // namespace shardkit::report
