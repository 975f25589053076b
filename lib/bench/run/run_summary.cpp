#include "bench/run/run_summary.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bench/run/run_words.hpp"

namespace shardkit::bench {
namespace {

/// The host's rates for the verdict.
std::vector<StageRate> judged_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                    std::vector<StageRate> rates) {
  if (!node.pipeline || !decodes(node, requirement)) return rates;
  return measured_together(std::move(rates), node.pipeline->rate);
}

/// The interval of a stage as one of `rate`, which is a multiple of its own. The rate of a single repetition is a mean
/// over all its time, the interval that of the median over slices: if the mean is outside, the interval does not
/// describe the rate.
std::optional<stats::Interval> scaled(const MeasuredStage& stage, double rate) {
  const auto& interval = stage.interval;
  if (!interval || stage.rate <= 0 || stage.rate < interval->low || stage.rate > interval->high) return std::nullopt;
  return stats::Interval{interval->low * rate / stage.rate, interval->high * rate / stage.rate};
}

/// Without the notes.
std::vector<StageTableRow> stage_table(const RunFacts& facts) {
  const MeasuredNode& node = facts.node;
  std::vector<StageTableRow> rows;
  const auto add = [&](std::string_view stage, double measured, const std::optional<stats::Interval>& interval) {
    StageTableRow& row = rows.emplace_back(StageTableRow{std::string(stage), {}, measured, interval, {}, {}});
    if (facts.requirement) row.required_per_second = facts.demand();
    if (facts.requirement) row.headroom_ratio = measured / facts.demand();
  };
  const double read = facts.separate.front().samples_per_second;
  add(stage::kRead, read, scaled(node.read, read));
  if (node.more_readers && node.sample_bytes > 0) {
    add(stage::kMoreReads, node.more_readers->bytes_per_second / sample_bytes(node, facts.requirement), {});
  }
  if (const auto unpack = facts.rate_with_others(stage::kUnpack)) add(stage::kUnpack, *unpack, {});
  if (decodes(node, facts.requirement)) {
    for (const auto& [stage, measured] : {std::pair(stage::kDecode, node.decode), {stage::kAugment, node.augment}}) {
      if (!measured) continue;
      const double rate = facts.rate_with_others(stage).value_or(measured->rate);
      add(stage, rate, scaled(*measured, rate));
    }
    if (node.pipeline) add(stage::kPipeline, node.pipeline->rate, node.pipeline->interval);
  }
  if (facts.transfer) {
    const double transfer = facts.transfer->samples_per_second;
    add(stage::kTransfer, transfer, scaled(*node.transfer, transfer));
  }
  if (facts.loader) add(stage::kLoader, facts.loader->samples_per_second, {});
  return rows;
}

/// How many GPUs of each preset the node can feed; presets of JPEGs only if decoding was measured.
std::vector<PresetRow> presets_fed(const MeasuredNode& node, double decode_samples_per_second) {
  Supply supply;
  supply.read_bytes_per_second = node.read.rate;
  if (decodes(node, {})) {
    supply.decode_samples_per_second = decode_samples_per_second;
    supply.decoded_sample_bytes = node.sample_bytes;
  }
  std::vector<PresetRow> rows = preset_rows(supply);
  if (!decodes(node, {})) std::erase_if(rows, [](const PresetRow& row) { return find_preset(row.name).jpeg; });
  return rows;
}

/// The batches of the job's loader: crops of images, or samples as they are stored.
LoaderBatches loader_batches(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                             const LoaderOptions& loader, bool makes_crops) {
  LoaderBatches batches = loader.batches;
  if (requirement) {
    batches.gpus = requirement->job.gpus;
    batches.batch = requirement->job.batch;
    batches.step_seconds = requirement->job.step_seconds;
  }
  if (!makes_crops) batches.decoded_bytes = decoded_bytes(node, requirement, batches.decoded_bytes);
  return batches;
}

/// The DataLoader for the job. Samples that are not images are only read, with times in proportion to their bytes.
LoaderAdvice loader_advice(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                           const LoaderOptions& loader) {
  LoaderData data = loader.data;
  SampleWork work = node.sample_work;
  LoaderReads reads = node.loader_reads;
  if (requirement && !requirement->is_of_images()) {
    data.kind = LoaderKind::none;
    data.why_none = fmt::format("samples of {} are not images",
                                requirement->preset == nullptr ? "this job" : requirement->preset->name);
    work = {};
    const double ratio = node.sample_bytes > 0 ? sample_bytes(node, requirement) / node.sample_bytes : 1;
    if (work.unpack = node.unpack; work.unpack) {
      work.unpack->cpu_seconds *= ratio;
      work.unpack->unpacked_sample_bytes *= ratio;
    }
    reads.wait_seconds *= ratio;
    if (reads.samples_per_second) *reads.samples_per_second /= ratio;
  }
  const LoaderBatches batches = loader_batches(node, requirement, loader, data.kind != LoaderKind::none);
  const LoaderCosts costs = loader_costs(data, work, reads, batches, sample_bytes(node, requirement), node.calibration);
  return advise_loader(costs, loader.limits, data, batches);
}

RunRequirement run_requirement(const MeasuredNode& node, const JobRequirement& requirement,
                               const LoaderOptions& loader) {
  RunRequirement required;
  if (requirement.preset != nullptr) required.preset = requirement.preset->name;
  required.gpus = requirement.job.gpus;
  required.min_au_ratio = requirement.min_au;
  required.samples_per_second = samples_per_second(requirement.job);
  required.bytes_per_second = required.samples_per_second * sample_bytes(node, requirement);
  required.h2d_bytes_per_second =
      required.samples_per_second * decoded_bytes(node, requirement, loader.batches.decoded_bytes);
  return required;
}

/// The prediction is that of the node by itself. A job that is not fed is undecided if others disturbed the
/// measurement, or if only the loader is short, by less than a calibration shows.
void add_rating(bool force, RunFacts& facts, RunSummary& summary) {
  const JobRequirement& requirement = *facts.requirement;
  const Rating node = rating_of(requirement.job, requirement.min_au, facts.judged);
  summary.predicted.au_ratio = node.overlapped_au;
  summary.predicted.au_serial_ratio = node.serial_au;
  summary.predicted.gpus_fed = node.gpus_fed;
  std::vector<StageRate> stages = facts.judged;
  if (facts.loader) stages.push_back(*facts.loader);
  const Rating& rating = facts.rating.emplace(rating_of(requirement.job, requirement.min_au, stages));
  summary.verdict.limiting_stage = rating.limiting_stage;
  summary.verdict.ok = rating.ok;
  const bool is_close = node.ok && meets(rating.headroom_ratio, (1 - kLoaderTolerance) * requirement.min_au);
  if (!rating.ok && !force && (facts.node.neighbors.disturb() || is_close)) summary.verdict.ok.reset();
}

}  // namespace

RunSummary summarize_run(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                         const LoaderOptions& loader) {
  RunFacts facts{node,
                 requirement,
                 stage_rates(node, requirement),
                 transfer_rate(node, requirement, loader.batches.decoded_bytes),
                 {},
                 {},
                 {}};
  facts.judged = judged_rates(node, requirement, facts.separate);
  const double decode_rate = facts.judged.back().samples_per_second;
  if (facts.transfer) facts.judged.push_back(*facts.transfer);
  RunSummary summary;
  summary.loader = loader_advice(node, requirement, loader);
  if (summary.loader.calibrated && !summary.loader.line.empty()) {
    facts.loader = StageRate{stage::kLoader, summary.loader.samples_per_second};
  }
  summary.stage_table = stage_table(facts);
  const StageRate slowest = *std::ranges::min_element(facts.judged, {}, &StageRate::samples_per_second);
  summary.predicted.samples_per_second = slowest.samples_per_second;
  summary.predicted.bytes_per_second = slowest.samples_per_second * sample_bytes(node, requirement);
  if (node.pipeline && decodes(node, requirement)) {
    summary.predicted.of_measured_ratio = facts.slowest_on_host().samples_per_second / node.pipeline->rate;
  }
  if (requirement) {
    summary.requirement = run_requirement(node, *requirement, loader);
    add_rating(loader.force_verdict, facts, summary);
  } else {
    summary.presets = presets_fed(node, decode_rate);
    summary.verdict.limiting_stage = slowest.stage;
  }
  for (StageTableRow& row : summary.stage_table) row.note = stage_note(row.stage, facts, summary.loader);
  add_verdict_text(facts, summary);
  summary.verdict.remedy = remedy_text(facts, summary);
  return summary;
}

void StageTableRow::describe(FieldList& v) {
  v.field({"stage", "stage", kLabel}, stage);
  v.field({"required_per_second", Unit::per_second, "samples that the job needs"}, required_per_second);
  v.field({"measured_per_second", Unit::per_second,
           "samples that the stage delivers, and the pipeline while it is full; with --repeat the median of all "
           "repetitions"},
          measured_per_second);
  v.field({"interval",
           "95 % interval of that rate: over slices of 0.1 s, or with --repeat over repetitions (the full range if "
           "there are fewer than 6). Absent if the stage took less than 1 s or the rate lies outside"},
          interval);
  v.field({"headroom_ratio", Unit::factor, "measured divided by required"}, headroom_ratio);
  v.field({"note", "how the value was measured or predicted"}, note);
}

void RunRequirement::describe(FieldList& v) {
  v.field({"preset", "preset that the job came from"}, preset);
  v.field({"gpus", Unit::count, "GPUs"}, gpus);
  v.field({"min_au_ratio", Unit::ratio, "required GPU utilization"}, min_au_ratio);
  v.field({"samples_per_second", Unit::per_second, "samples that all GPUs need"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "stored bytes for these samples"}, bytes_per_second);
  v.field({"h2d_bytes_per_second", Unit::bytes_per_second, "decoded bytes from host to GPUs"}, h2d_bytes_per_second);
}

void PredictedSupply::describe(FieldList& v) {
  v.field({"samples_per_second", Unit::per_second, "samples that the node feeds, as in the verdict",
           derived_metric(Better::higher)},
          samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "stored bytes for these samples"}, bytes_per_second);
  v.field({"of_measured_ratio", Unit::factor, "rate predicted from the host's stages divided by the pipeline's rate"},
          of_measured_ratio);
  v.field({"au_ratio", Unit::ratio, "GPU utilization if loading overlaps compute fully"}, au_ratio);
  v.field({"au_serial_ratio", Unit::ratio, "GPU utilization if each step waits for its batch"}, au_serial_ratio);
  v.field({"gpus_fed", Unit::count, "GPUs that this rate can feed"}, gpus_fed);
}

void Verdict::describe(FieldList& v) {
  v.field({"ok",
           "false if a requirement was given and missed; null if others disturbed a measurement that missed it, or if "
           "only the loader misses it, by at most 10 %"},
          ok);
  v.field({"limiting_stage", "the bottleneck"}, limiting_stage);
  v.field({"text", "the verdict in a line"}, text);
  v.field({"remedy", "what would close the gap"}, remedy);
  v.field({"notes", "what else belongs to the verdict"}, notes);
}

}  // namespace shardkit::bench
