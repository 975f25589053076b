#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_fields.hpp"
#include "report/section_tools.hpp"

/// Sections of verbs that measure or compute one thing: what they found, and with which settings.
namespace shardkit::report {
namespace {

Table read_facts(const Json& result) {
  return facts_of(result, {{"rate", "bytes_per_second", Unit::bytes_per_second},
                           {"samples", "samples_per_second", Unit::per_second},
                           {"page cache", "cache.state"},
                           {"order", "mode"},
                           {"engine", "engine"},
                           {"O_DIRECT", "direct"},
                           {"threads", "threads", Unit::count},
                           {"reads in flight per thread", "depth", Unit::count},
                           {"bytes per read", "block_bytes", Unit::bytes},
                           {"bytes read", "bytes", Unit::bytes},
                           {"files", "files", Unit::count},
                           {"the same with fio", "fio"}});
}

Table decode_facts(const Json& result) {
  return facts_of(result, {{"images", "samples_per_second", Unit::per_second},
                           {"interval", "samples_per_second_interval", Unit::per_second},
                           {"images per core", "samples_per_second_per_core", Unit::per_second},
                           {"megapixels per second", "megapixels_per_second", Unit::count},
                           {"decoder", "backend"},
                           {"threads", "threads", Unit::count},
                           {"crop", "crop", Unit::count},
                           {"different images", "images", Unit::count},
                           {"mean size", "mix.mean_bytes", Unit::bytes},
                           {"mean megapixels", "mix.mean_megapixels"},
                           {"progressive JPEGs", "mix.progressive", Unit::count},
                           {"failures", "failures.total", Unit::count}});
}

Table pipeline_facts(const Json& result) {
  return facts_of(result, {{"samples", "samples_per_second", Unit::per_second},
                           {"needed", "required_samples_per_second", Unit::per_second},
                           {"accelerator utilization", "au_ratio", Unit::ratio},
                           {"steps that waited for data", "stall_ratio", Unit::ratio},
                           {"bottleneck", "limiting_stage"},
                           {"GPUs of the job", "gpus", Unit::count},
                           {"batch per GPU", "batch", Unit::count},
                           {"workers", "workers", Unit::count},
                           {"prefetch", "prefetch", Unit::count},
                           {"decoder", "decode"},
                           {"first batch", "first_batch_seconds", Unit::seconds},
                           {"page cache", "cache.state"}});
}

/// What a verb of one stage measured, and with which settings.
std::optional<Section> measured(const Source& source) {
  const std::array<std::pair<std::string_view, Table (*)(const Json&)>, 3> tables{
      {{"read", read_facts}, {"decode", decode_facts}, {"pipeline", pipeline_facts}}};
  for (const auto& [verb, table] : tables) {
    if (source.verb != verb) continue;
    Section section{.heading = "Measured", .table = table(source.result)};
    return section.table.rows.empty() ? std::nullopt : std::optional(section);
  }
  return std::nullopt;
}

std::optional<Section> checkpoints(const Source& source) {
  if (source.verb != "checkpoint") return std::nullopt;
  const Json& rows = list_at(source.result, "rows");
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const std::string mode = text_at(row, "mode").value_or("");
    for (const auto& [what, name] : {std::pair{"training waits", "block"}, std::pair{"until durable", "durable"}}) {
      const auto seconds = number_at(row, fmt::format("{}_seconds", name));
      if (!seconds) continue;
      bars.push_back({fmt::format("{}: {}", mode, what), seconds_text(*seconds), *seconds,
                      number_at(row, fmt::format("{}_interval_seconds.low", name)),
                      number_at(row, fmt::format("{}_interval_seconds.high", name))});
    }
  }
  if (bars.empty()) return std::nullopt;
  Section section{.heading = "Time of a checkpoint", .figures = {bar_chart("Time of a checkpoint", bars)}};
  section.paragraphs.push_back("A thin line is the interval over repetitions.");
  section.table = table_of(rows, {{"mode", "mode"},
                                  {"bytes", "bytes", Unit::bytes},
                                  {"training waits", "block_seconds", Unit::seconds},
                                  {"until durable", "durable_seconds", Unit::seconds},
                                  {"rate", "bytes_per_second", Unit::bytes_per_second},
                                  {"copy", "snapshot_seconds", Unit::seconds},
                                  {"write", "write_seconds", Unit::seconds},
                                  {"fsync", "sync_seconds", Unit::seconds},
                                  {"p99 of a write", "write_latency_seconds.p99", Unit::seconds},
                                  {"share of training", "share_ratio", Unit::ratio}});
  return section;
}

std::optional<Section> needs(const Source& source) {
  const Json* required = source.verb == "model" ? member(source.result, "required") : nullptr;
  if (required == nullptr || !required->is_object()) return std::nullopt;
  Section section{.heading = "What the job needs"};
  section.table = facts_of(*required, {{"samples", "samples_per_second", Unit::per_second},
                                       {"bytes from storage", "bytes_per_second", Unit::bytes_per_second},
                                       {"files", "files_per_second", Unit::per_second},
                                       {"decode cores", "decode_cores"},
                                       {"to the GPUs", "h2d_bytes_per_second", Unit::bytes_per_second},
                                       {"prefetch memory", "prefetch_memory_bytes", Unit::bytes},
                                       {"/dev/shm", "dev_shm_bytes", Unit::bytes},
                                       {"epoch", "epoch_seconds", Unit::seconds},
                                       {"write of a checkpoint", "checkpoint.write_seconds", Unit::seconds},
                                       {"share of checkpoints", "checkpoint.synchronous_share_ratio", Unit::ratio}});
  return section;
}

std::optional<Section> supplies(const Source& source) {
  const Json* supply = source.verb == "model" ? member(source.result, "supply") : nullptr;
  if (supply == nullptr || !supply->is_object()) return std::nullopt;
  Section section{.heading = "What the node delivers"};
  section.table =
      facts_of(source.result, {{"read", "supply.read_bytes_per_second", Unit::bytes_per_second},
                               {"samples read", "supply.read_samples_per_second", Unit::per_second},
                               {"samples decoded", "supply.decode_samples_per_second", Unit::per_second},
                               {"pipeline", "supply.pipeline_samples_per_second", Unit::per_second},
                               {"page cache", "supply.cache_state"},
                               {"bottleneck", "limiting_stage"},
                               {"headroom", "headroom_ratio", Unit::factor},
                               {"predicted utilization", "predicted_au_ratio", Unit::ratio},
                               {"if each step waits for its batch", "predicted_au_serial_ratio", Unit::ratio},
                               {"GPUs fed", "gpus_fed", Unit::count}});
  if (const auto cost = number_at(source.result, "idle_cost_per_hour"))
    section.table.rows.push_back(
        {"cost of idle GPUs", fmt::format("{:.3g} per hour, {:.3g} per day", *cost, *cost * 24)});
  return section.table.rows.empty() ? std::nullopt : std::optional(section);
}

}  // namespace

std::span<const SectionOf> verb_sections() {
  static constexpr auto sections = std::to_array<SectionOf>({measured, needs, supplies, checkpoints});
  return sections;
}

}  // namespace shardkit::report
