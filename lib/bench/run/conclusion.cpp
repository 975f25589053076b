#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "bench/run/run.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// Images far larger than the result: a crop uses a quarter of an image's area or more.
bool is_oversized(const MeasuredNode& node) {
  const double wanted = static_cast<double>(node.crop * node.crop) / 1e6;
  constexpr double kFarLarger = 16;
  return node.crop > 0 && node.megapixels > kFarLarger * wanted;
}

/// The share of unpacking in the CPU time of a sample, and what avoids it.
std::string unpack_words(const MeasuredNode& node) {
  if (!node.unpack) return {};
  const double unpack = node.unpack->cpu_seconds;
  const double all = node.read_cpu_seconds + unpack + node.decode_cpu_seconds + node.augment_cpu_seconds;
  return fmt::format(
      "plain shards (`shardctl reshard`) avoid unpacking, which takes {:.0f} % of the CPU time of a sample",
      unpack / all * 100);
}

/// "7.1 more cores (9.1 in all)", and how to need fewer of them.
std::string decode_remedy(const MeasuredNode& node, double target, double rate) {
  const double used = std::min(node.threads, node.cores);
  const double needed = used * target / rate;
  std::string text =
      fmt::format("{:.1f} more cores of this kind would close the gap ({:.1f} in total), or decoding on the GPU",
                  needed - used, needed);
  if (node.cpu_limit && *node.cpu_limit < node.threads + 1) {
    text += fmt::format("; raise the control group's CPU limit of {:.2f} cores", *node.cpu_limit);
  }
  if (node.threads < node.cores) {
    text += fmt::format("; --threads {:.0f} leaves cores idle", node.threads);
  }
  if (node.unpack) text += "; " + unpack_words(node);
  if (is_oversized(node)) {
    text += fmt::format(
        "; images of {:.1f} megapixels are decoded for crops of {}: `shardctl convert --resize` makes them smaller "
        "once",
        node.megapixels, node.crop);
  }
  return text;
}

/// Whether more reads in flight help, and how many, as measured: at a latency that does not depend on their number, a
/// rate needs rate x latency of them (Little's law).
std::string more_readers_words(const MeasuredNode& node, const JobRequirement& requirement, double target) {
  constexpr double kHelps = 1.1;
  constexpr std::string_view kFaster = "use faster storage, or stage the shards to a local disk";
  if (!node.more_readers) return "use more readers or faster storage, or stage the shards to a local disk";
  const double latency = node.readers * sample_bytes(node, requirement) / node.read_bytes_per_second;
  const double gain = node.more_readers->bytes_per_second / node.read_bytes_per_second;
  if (gain < kHelps) {
    return fmt::format("{}; more reads in flight do not help ({} instead of {:.0f}: {})", kFaster,
                       node.more_readers->readers, node.readers, format_rate(node.more_readers->bytes_per_second));
  }
  const double gpus = static_cast<double>(requirement.job.gpus);
  const double workers = std::ceil(target * latency / gpus);
  const double most = node.more_readers->bytes_per_second / sample_bytes(node, requirement);
  if (most < target && workers * gpus <= static_cast<double>(node.more_readers->readers)) {
    return fmt::format("{}; {} reads in flight instead of {:.0f} give {}", kFaster, node.more_readers->readers,
                       node.readers, sample_rate_text(most));
  }
  return fmt::format(
      "a sample takes {} to read, so {:.0f} reads in flight are needed, --workers {:.0f} ({} gave {}); or {}",
      format_duration(latency), workers * gpus, workers, node.more_readers->readers, sample_rate_text(most), kFaster);
}

/// "1.2 GB/s more": the missing rate of storage.
std::string read_remedy(const MeasuredNode& node, const JobRequirement& requirement, double target) {
  const double missing = target * sample_bytes(node, requirement) - node.read_bytes_per_second;
  std::string text =
      fmt::format("{} more from storage would close the gap ({} in total): {}", format_rate(std::max(missing, 0.0)),
                  format_rate(node.read_bytes_per_second + missing), more_readers_words(node, requirement, target));
  if (node.file_costs_ratio) {
    text += fmt::format(
        "; {:.0f} % of the time of a file is opening, stat and closing, which shards avoid (`shardctl convert`)",
        *node.file_costs_ratio * 100);
  }
  return text;
}

/// Plain shards, or what unpacks faster: more shards if there are fewer than cores.
std::string unpack_remedy(const MeasuredNode& node, double target, double rate) {
  std::string text = unpack_words(node);
  if (unpacking_cores(node) < node.cores) return text + "; or use more shards, each of which keeps one core busy";
  const double used = std::min(node.threads, node.cores);
  return text + fmt::format("; or {:.1f} more cores of this kind ({:.1f} in total)", used * target / rate - used,
                            used * target / rate);
}

/// What makes augmenting faster: a crop or batch of fewer bytes, or the GPU.
std::string augment_remedy(const MeasuredNode& node, double target, double rate) {
  const double used = std::min(node.threads, node.cores);
  return fmt::format(
      "8-bit values normalized on the GPU leave the CPU only the flip and a quarter of the bytes (--dtype u8); or "
      "{:.1f} more cores of this kind ({:.1f} in total)",
      used * target / rate - used, used * target / rate);
}

/// "4.00 GB/s more to each GPU": the missing rate of the links.
std::string transfer_remedy(const MeasuredNode& node, const JobRequirement& requirement, const Judgment& judgment,
                            double target) {
  const double measured = *node.transfer_bytes_per_second;
  const double needed = measured * target / judgment.supply_per_second;
  std::string text = fmt::format(
      "{} more to each GPU would close the gap ({} in total): ", format_rate(needed - measured), format_rate(needed));
  if (decodes(node, requirement)) {
    text += "8-bit values normalized on the GPU need a quarter of the bandwidth of float32 (--dtype u8); ";
  }
  return text + "a link with more lanes or of a newer generation (`iobench transfer` measures this one)";
}

/// The cores or bytes per second that would close the gap of a judgment, and other remedies. Pure.
std::string remedy(const MeasuredNode& node, const JobRequirement& requirement, const Judgment& judgment) {
  const double target = samples_per_second(requirement.job) * requirement.min_au;
  if (judgment.limiting_stage == stage::kRead) return read_remedy(node, requirement, target);
  if (judgment.limiting_stage == stage::kUnpack) return unpack_remedy(node, target, judgment.supply_per_second);
  if (judgment.limiting_stage == stage::kTransfer) return transfer_remedy(node, requirement, judgment, target);
  if (judgment.limiting_stage == stage::kAugment) return augment_remedy(node, target, judgment.supply_per_second);
  return decode_remedy(node, target, judgment.supply_per_second);
}

/// The host's rates for the verdict: if the pipeline was measured, its rate replaces that of the slowest stage, and no
/// other is below it.
std::vector<StageRate> judged_rates(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                                    std::vector<StageRate> rates) {
  if (!node.pipeline_samples_per_second || !decodes(node, requirement)) return rates;
  const auto slowest = std::ranges::min_element(rates, {}, &StageRate::samples_per_second);
  for (StageRate& rate : rates) {
    rate.samples_per_second = std::max(rate.samples_per_second, *node.pipeline_samples_per_second);
  }
  slowest->samples_per_second = *node.pipeline_samples_per_second;
  return rates;
}

LadderRow ladder_row(std::string_view stage, std::optional<double> required, double measured,
                     const std::optional<stats::Interval>& interval, std::string note) {
  LadderRow row{std::string(stage), required, measured, interval, {}, std::move(note)};
  if (required) row.headroom_ratio = measured / *required;
  return row;
}

/// An interval of `of` as one of `rate`, which is a multiple of it. The rate of a single repetition is a mean over all
/// its time, the interval that of the median over slices: if the mean is outside, the interval does not describe the
/// rate.
std::optional<stats::Interval> scaled(const std::optional<stats::Interval>& interval, double of, double rate) {
  if (!interval || of <= 0 || of < interval->low || of > interval->high) return std::nullopt;
  return stats::Interval{interval->low * rate / of, interval->high * rate / of};
}

void add_decoding(const MeasuredNode& node, std::optional<double> required, double rate, std::vector<LadderRow>& rows) {
  const double alone = *node.decode_samples_per_second;
  rows.push_back(ladder_row(stage::kDecode, required, rate, scaled(node.decode_interval, alone, rate),
                            fmt::format("beside the others; alone {}/s", rate_number(alone))));
  if (!node.augment_samples_per_second) return;
  rows.push_back(ladder_row(stage::kAugment, required, *node.augment_samples_per_second, node.augment_interval,
                            "alone: flip, normalize, collate"));
}

LadderRow transfer_row(const MeasuredNode& node, std::optional<double> required, std::uint64_t gpus, double rate) {
  const double measured = *node.transfer_bytes_per_second;
  const std::string copy = format_size(static_cast<std::uint64_t>(node.transfer_copy_bytes));
  std::string note = fmt::format("{} to the GPU, {} per copy", format_rate(measured), copy);
  if (gpus > 1) {
    note = fmt::format("{} to each, {} of {} at once", format_rate(measured), node.transfer_gpus, gpus);
  }
  return ladder_row(stage::kTransfer, required, rate, scaled(node.transfer_interval, measured, rate), std::move(note));
}

std::vector<LadderRow> ladder(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                              const std::vector<StageRate>& rates, double predicted,
                              const std::optional<StageRate>& transfer) {
  std::optional<double> required;
  if (requirement) required = samples_per_second(requirement->job);
  const double bytes = node.read_bytes_per_second;
  const double read = rates.front().samples_per_second;
  std::vector<LadderRow> rows{ladder_row(
      stage::kRead, required, read, scaled(node.read_interval, bytes, read),
      fmt::format("{}, {}, {:.0f} in flight", format_rate(bytes), enum_name(node.cache_state), node.readers))};
  if (node.more_readers && node.sample_bytes > 0) {
    const double more = node.more_readers->bytes_per_second / sample_bytes(node, requirement);
    rows.push_back(ladder_row(
        stage::kMoreReads, required, more, {},
        fmt::format("{}, {} in flight", format_rate(node.more_readers->bytes_per_second), node.more_readers->readers)));
  }
  if (const auto unpack = std::ranges::find(rates, stage::kUnpack, &StageRate::stage);
      node.unpack && unpack != rates.end()) {
    rows.push_back(ladder_row(stage::kUnpack, required, unpack->samples_per_second, {},
                              fmt::format("alone, on {:.0f} cores; {} of CPU time each", unpacking_cores(node),
                                          format_duration(node.unpack->cpu_seconds))));
  }
  if (decodes(node, requirement)) add_decoding(node, required, rates.back().samples_per_second, rows);
  if (node.pipeline_samples_per_second && decodes(node, requirement)) {
    rows.push_back(ladder_row("pipeline", required, *node.pipeline_samples_per_second, node.pipeline_interval,
                              fmt::format("all at once; {}/s expected", rate_number(predicted))));
  }
  if (transfer) {
    const std::uint64_t gpus = requirement ? requirement->job.gpus : node.transfer_gpus;
    rows.push_back(transfer_row(node, required, gpus, transfer->samples_per_second));
  }
  return rows;
}

std::string cache_words(const MeasuredNode& node) {
  if (from_memory(node)) return fmt::format("; storage was not measured: {} page cache", enum_name(node.cache_state));
  if (node.cache_state == CacheState::direct) return "; reads bypassed the page cache (O_DIRECT)";
  if (node.cache_state == CacheState::unknown) return "; whether the data was cached is unknown";
  return {};
}

std::string decoding_words(const MeasuredNode& node, const JobRequirement* requirement) {
  const bool is_of_images = requirement == nullptr || requirement->is_of_images();
  if (!is_of_images && requirement->kind) {
    return fmt::format("; samples are {}: judged only by reading", enum_name(*requirement->kind));
  }
  if (!node.decode_samples_per_second) return "; the data contains no JPEGs: decoding was not measured";
  if (is_of_images) return {};
  return fmt::format("; samples of {} are not JPEGs: judged only by reading", requirement->preset->name);
}

/// The stages that are still too slow once the slowest one is fast enough.
std::string also_short(const JobRequirement& requirement, const Judgment& judgment,
                       const std::vector<StageRate>& rates) {
  const double target = samples_per_second(requirement.job) * requirement.min_au;
  for (const StageRate& rate : rates) {
    if (rate.stage == judgment.limiting_stage || rate.samples_per_second >= target) continue;
    return fmt::format("; {} is also too slow ({})", rate.stage, sample_rate_text(rate.samples_per_second));
  }
  return {};
}

/// Whether both names mean the cores that decode.
bool is_same_stage(std::string_view a, std::string_view b) {
  const auto of_cores = [](std::string_view stage) {
    return stage == stage::kUnpack || stage == stage::kDecode || stage == stage::kAugment;
  };
  return a == b || (of_cores(a) && of_cores(b));
}

/// That others made the rates lower; empty if they did not.
std::string disturbance(const MeasuredNode& node) {
  if (!node.neighbors.disturb()) return {};
  return fmt::format("; {}: an idle machine would be faster", node.neighbors.text());
}

/// If the threads of the pipeline spent their time in another stage than the one that is slowest when measured
/// separately: that this is so. If both rates are close, both stages are named.
std::string other_attribution(const MeasuredNode& node, const std::vector<StageRate>& separate) {
  constexpr double kClose = 1.15;
  const auto slowest = std::ranges::min_element(separate, {}, &StageRate::samples_per_second);
  const auto other = std::ranges::find_if(
      separate, [&](const StageRate& rate) { return is_same_stage(rate.stage, node.pipeline_stage); });
  if (!node.pipeline_samples_per_second || other == separate.end() || other == slowest) return {};
  if (other->samples_per_second < kClose * slowest->samples_per_second) {
    return fmt::format("; {} is about as slow ({})", other->stage, sample_rate_text(other->samples_per_second));
  }
  return fmt::format(
      "; this is uncertain: {} is the slowest stage when measured alone, but the pipeline waited for {}. Run again "
      "with a longer --budget",
      slowest->stage, other->stage);
}

/// The verdict on a job that this node would not feed, if others disturbed the measurement.
void make_undecided(const Neighbors& neighbors, const std::string& numbers, Verdict& verdict) {
  verdict.ok = std::nullopt;
  verdict.text = fmt::format("undecided: {}, and {} was too slow: {}; run again on an idle machine", neighbors.text(),
                             verdict.limiting_stage, numbers);
}

Verdict verdict_on_job(const MeasuredNode& node, const JobRequirement& requirement, const Judgment& judgment,
                       const std::vector<StageRate>& rates, const std::vector<StageRate>& separate, bool force) {
  const double demand = samples_per_second(requirement.job);
  Verdict verdict;
  verdict.ok = judgment.ok;
  verdict.limiting_stage = judgment.limiting_stage;
  const std::string numbers = fmt::format(
      "{} available, {} needed, predicted AU {:.0f} %{}{}", sample_rate_text(judgment.supply_per_second),
      rate_number(demand), judgment.overlapped_au * 100, cache_words(node), decoding_words(node, &requirement));
  if (judgment.limiting_stage == stage::kCompute) {
    verdict.text = "GPUs are fed: " + numbers;
  } else if (judgment.ok) {
    verdict.text = fmt::format("enough; {} is the bottleneck: {}", judgment.limiting_stage, numbers);
  } else {
    verdict.text = fmt::format("{} is the bottleneck: {}", judgment.limiting_stage, numbers);
    verdict.text += other_attribution(node, separate);
    verdict.remedy = remedy(node, requirement, judgment) + also_short(requirement, judgment, rates);
  }
  if (!node.neighbors.disturb()) return verdict;
  verdict.remedy.clear();  // what would close a gap cannot follow from rates that others made lower
  if (judgment.ok || force) {
    verdict.text += disturbance(node);
    if (!judgment.ok) verdict.remedy = "run again on an idle machine to find out what would close the gap";
  } else {
    make_undecided(node.neighbors, numbers, verdict);
  }
  return verdict;
}

/// "feeds 0.4 A100 (ResNet-50), ...": how many GPUs of each JPEG preset reading and decoding feed, in tenths; presets
/// of which that is less than a tenth are left out.
std::string feeds_text(const MeasuredNode& node, const std::vector<StageRate>& rates) {
  std::vector<FedGpus> fed;
  for (const Preset& preset : presets()) {
    if (!preset.jpeg) continue;
    const double read = node.read_bytes_per_second / preset.sample_bytes;
    const double decode = decode_rate_of(rates.back().samples_per_second, node.sample_bytes, preset.sample_bytes);
    const double supply = std::min(read, decode);
    const double tenths = std::floor(supply / (preset.min_au * samples_per_second(preset_job(preset, 1))) * 10);
    if (tenths > 0) fed.push_back({&preset, fmt::format("{:.1f}", tenths / 10)});
  }
  return "feeds " + (fed.empty() ? "no GPU of a published workload" : fed_gpus_text(fed));
}

Verdict verdict_without_job(const MeasuredNode& node, const StageRate& slowest, const std::vector<StageRate>& rates,
                            const std::vector<StageRate>& separate) {
  Verdict verdict;
  verdict.limiting_stage = slowest.stage;
  if (!decodes(node, {})) {
    const StageRate& of_host = *std::ranges::min_element(rates, {}, &StageRate::samples_per_second);
    verdict.text = fmt::format("reads {} ({}){}{}{}", sample_rate_text(of_host.samples_per_second),
                               format_rate(node.read_bytes_per_second),
                               of_host.stage == stage::kUnpack ? "; unpack is the bottleneck" : "", cache_words(node),
                               decoding_words(node, nullptr)) +
                   disturbance(node);
    return verdict;
  }
  verdict.text = fmt::format("{}; {} is the bottleneck{}{}{}", sample_rate_text(slowest.samples_per_second),
                             slowest.stage, cache_words(node), other_attribution(node, separate), disturbance(node));
  return verdict;
}

/// How many GPUs of each preset the node can feed; presets of JPEGs only if decoding was measured.
std::vector<PresetRow> presets_fed(const MeasuredNode& node, double decode_samples_per_second) {
  Supply supply;
  supply.read_bytes_per_second = node.read_bytes_per_second;
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
  LoaderBatches batches;
  batches.workers = loader.workers;
  batches.gpus = requirement ? requirement->job.gpus : 1;
  batches.batch = requirement ? requirement->job.batch : loader.batch;
  batches.prefetch = loader.prefetch;
  batches.step_seconds = requirement ? requirement->job.step_seconds : 0;
  batches.crop = node.crop;
  batches.dtype = loader.dtype;
  batches.decoded_bytes =
      makes_crops ? static_cast<double>(loader.tensor_bytes) : decoded_bytes(node, requirement, loader.tensor_bytes);
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
  return advise_loader(costs, loader.limits, data, batches, loader.operands);
}

/// That the node would feed the job, but not with PyTorch's loader.
std::string slower_loader(const Conclusion& conclusion, double min_au, bool is_disturbed) {
  const double wanted = conclusion.requirement->samples_per_second * min_au;
  const double rate = conclusion.loader.samples_per_second;
  if (!conclusion.verdict.ok.value_or(false) || rate >= wanted || conclusion.loader.line.empty()) return {};
  return fmt::format("; but PyTorch with PIL delivers only about {} with {} per GPU{}", sample_rate_text(rate),
                     format_count(conclusion.loader.workers, "worker"), is_disturbed ? " on an idle machine" : "");
}

RunRequirement run_requirement(const MeasuredNode& node, const JobRequirement& requirement,
                               const LoaderOptions& loader) {
  RunRequirement required;
  if (requirement.preset != nullptr) required.preset = requirement.preset->name;
  required.gpus = requirement.job.gpus;
  required.min_au_ratio = requirement.min_au;
  required.samples_per_second = samples_per_second(requirement.job);
  required.bytes_per_second = required.samples_per_second * sample_bytes(node, requirement);
  required.h2d_bytes_per_second = required.samples_per_second * decoded_bytes(node, requirement, loader.tensor_bytes);
  return required;
}

}  // namespace

Conclusion conclude(const MeasuredNode& node, const std::optional<JobRequirement>& requirement,
                    const LoaderOptions& loader) {
  const std::vector<StageRate> rates = stage_rates(node, requirement);
  const double on_host = std::ranges::min_element(rates, {}, &StageRate::samples_per_second)->samples_per_second;
  const auto transfer = transfer_rate(node, requirement, loader.tensor_bytes);
  const std::vector<StageRate> host = judged_rates(node, requirement, rates);
  std::vector<StageRate> judged = host;
  if (transfer) judged.push_back(*transfer);
  Conclusion conclusion;
  conclusion.ladder = ladder(node, requirement, rates, on_host, transfer);
  conclusion.loader = loader_advice(node, requirement, loader);
  const StageRate slowest = *std::ranges::min_element(judged, {}, &StageRate::samples_per_second);
  conclusion.predicted.samples_per_second = slowest.samples_per_second;
  conclusion.predicted.bytes_per_second = slowest.samples_per_second * sample_bytes(node, requirement);
  if (node.pipeline_samples_per_second && decodes(node, requirement)) {
    conclusion.predicted.of_measured_ratio = on_host / *node.pipeline_samples_per_second;
  }
  if (!requirement) {
    conclusion.presets = presets_fed(node, host.back().samples_per_second);
    if (decodes(node, requirement)) conclusion.feeds = feeds_text(node, host);
    conclusion.verdict = verdict_without_job(node, slowest, host, rates);
    return conclusion;
  }
  const Judgment judgment = judge(requirement->job, requirement->min_au, judged);
  conclusion.requirement = run_requirement(node, *requirement, loader);
  conclusion.predicted.au_ratio = judgment.overlapped_au;
  conclusion.predicted.au_serial_ratio = judgment.serial_au;
  conclusion.predicted.gpus_fed = judgment.gpus_fed;
  conclusion.verdict = verdict_on_job(node, *requirement, judgment, judged, rates, loader.force_verdict);
  conclusion.verdict.text += slower_loader(conclusion, requirement->min_au, node.neighbors.disturb());
  return conclusion;
}

}  // namespace shardkit::bench
