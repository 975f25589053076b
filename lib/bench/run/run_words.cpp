#include "bench/run/run_words.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// JPEGs, which `convert --resize` makes smaller, far larger than the result: a crop uses a quarter of an image's area
/// or more.
bool is_oversized(const MeasuredNode& node) {
  const double wanted = static_cast<double>(node.crop * node.crop) / 1e6;
  constexpr double kFarLarger = 16;
  return node.crop > 0 && node.images == image::ImageKind::jpeg && node.megapixels > kFarLarger * wanted;
}

/// The share of unpacking in the CPU time of a sample, and what avoids it.
std::string unpack_words(const MeasuredNode& node) {
  return fmt::format(
      "plain shards (`shardctl reshard`) avoid unpacking, which takes {:.0f} % of the CPU time of a sample",
      node.unpack->cpu_seconds / cpu_seconds(node) * 100);
}

/// "7.1 more cores of this kind (9.1 in total)", with `what` they do before the brackets.
std::string more_cores(const RunFacts& facts, std::string_view what = "") {
  const double used = std::min(facts.node.threads, facts.node.cores);
  const double needed = used * facts.target() / facts.rating->supply_per_second;
  return fmt::format("{:.1f} more cores of this kind{} ({:.1f} in total)", needed - used, what, needed);
}

/// More cores, and how to need fewer of them.
std::string decode_remedy(const RunFacts& facts) {
  const MeasuredNode& node = facts.node;
  std::string text = more_cores(facts, " would close the gap");
  text += node.images == image::ImageKind::jpeg ? ", or decoding on the GPU"
                                                : ", or JPEGs, which take less time and which a GPU decodes";
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
std::string more_readers_words(const RunFacts& facts) {
  constexpr double kHelps = 1.1;
  constexpr std::string_view kFaster = "use faster storage, or stage the shards to a local disk";
  const MeasuredNode& node = facts.node;
  if (!node.more_readers) return "use more readers or faster storage, or stage the shards to a local disk";
  const double bytes = sample_bytes(node, facts.requirement);
  const double latency = node.readers * bytes / node.read.rate;
  const double gain = node.more_readers->bytes_per_second / node.read.rate;
  if (gain < kHelps) {
    return fmt::format("{}; more reads in flight do not help ({} instead of {:.0f}: {})", kFaster,
                       node.more_readers->readers, node.readers, format_rate(node.more_readers->bytes_per_second));
  }
  const double gpus = static_cast<double>(facts.requirement->job.gpus);
  const double workers = std::ceil(facts.target() * latency / gpus);
  const double most = node.more_readers->bytes_per_second / bytes;
  if (most < facts.target() && workers * gpus <= static_cast<double>(node.more_readers->readers)) {
    return fmt::format("{}; {} reads in flight instead of {:.0f} give {}", kFaster, node.more_readers->readers,
                       node.readers, sample_rate_text(most));
  }
  return fmt::format(
      "a sample takes {} to read, so {:.0f} reads in flight are needed, --workers {:.0f} ({} gave {}); or {}",
      format_duration(latency), workers * gpus, workers, node.more_readers->readers, sample_rate_text(most), kFaster);
}

/// "1.2 GB/s more": the missing rate of storage.
std::string read_remedy(const RunFacts& facts) {
  const MeasuredNode& node = facts.node;
  const double missing = facts.target() * sample_bytes(node, facts.requirement) - node.read.rate;
  std::string text =
      fmt::format("{} more from storage would close the gap ({} in total): {}", format_rate(std::max(missing, 0.0)),
                  format_rate(node.read.rate + missing), more_readers_words(facts));
  if (node.file_costs_ratio) {
    text += fmt::format(
        "; {:.0f} % of the time of a file is opening, stat and closing, which shards avoid (`shardctl convert`)",
        *node.file_costs_ratio * 100);
  }
  return text;
}

/// Plain shards, or what unpacks faster: more shards if there are fewer than cores.
std::string unpack_remedy(const RunFacts& facts) {
  const bool has_few_shards = unpacking_cores(facts.node) < facts.node.cores;
  return unpack_words(facts.node) + "; or " +
         (has_few_shards ? "use more shards, each of which keeps one core busy" : more_cores(facts));
}

/// "4.00 GB/s more to each GPU": the missing rate of the links.
std::string transfer_remedy(const RunFacts& facts) {
  const double measured = facts.node.transfer->rate;
  const double needed = measured * facts.target() / facts.rating->supply_per_second;
  std::string text = fmt::format(
      "{} more to each GPU would close the gap ({} in total): ", format_rate(needed - measured), format_rate(needed));
  if (decodes(facts.node, facts.requirement)) {
    text += "8-bit values normalized on the GPU need a quarter of the bandwidth of float32 (--dtype u8); ";
  }
  return text + "a link with more lanes or of a newer generation (`iobench transfer` measures this one)";
}

/// What keeps the loader from delivering more, and a faster one.
std::string loader_remedy(const RunFacts& facts, const LoaderAdvice& loader) {
  const std::string faster = fmt::format(
      "or a loader that is faster than PIL: this node delivers {}",
      sample_rate_text(std::ranges::min(facts.judged, {}, &StageRate::samples_per_second).samples_per_second));
  switch (loader.limit) {
    case WorkerLimit::shards:
      return fmt::format("more shards allow more workers: `{}`; {}", loader.reshard, faster);
    case WorkerLimit::memory:
    case WorkerLimit::dev_shm:
      return fmt::format("more {} allows {} workers per GPU; {}",
                         loader.limit == WorkerLimit::memory ? "memory" : "space in /dev/shm", loader.wanted_workers,
                         faster);
    case WorkerLimit::asked:
      return fmt::format("leave out --workers to find the best number; {}", faster);
    case WorkerLimit::rate:
      break;
  }
  const double needed = facts.node.cores * facts.target() / loader.samples_per_second;
  return fmt::format("{:.1f} more cores of this kind would close the gap ({:.1f} in total), {}",
                     needed - facts.node.cores, needed, faster);
}

/// The cores or bytes per second that would close the gap, and other remedies.
std::string remedy(const RunFacts& facts, const LoaderAdvice& loader) {
  const std::string& stage = facts.rating->limiting_stage;
  if (stage == stage::kLoader) return loader_remedy(facts, loader);
  if (stage == stage::kRead) return read_remedy(facts);
  if (stage == stage::kUnpack) return unpack_remedy(facts);
  if (stage == stage::kTransfer) return transfer_remedy(facts);
  if (stage == stage::kAugment) {  // a crop or batch of fewer bytes, or the GPU
    return "8-bit values normalized on the GPU leave the CPU only the flip and a quarter of the bytes (--dtype u8); "
           "or " +
           more_cores(facts);
  }
  return decode_remedy(facts);
}

/// The first stage that is still too slow once the slowest one is fast enough.
std::string also_short(const RunFacts& facts) {
  for (const StageRate& rate : facts.judged) {
    if (rate.stage == facts.rating->limiting_stage || rate.samples_per_second >= facts.target()) continue;
    return fmt::format("; {} is also too slow ({})", rate.stage, sample_rate_text(rate.samples_per_second));
  }
  return {};
}

std::string cache_words(const MeasuredNode& node) {
  if (from_memory(node)) return fmt::format("storage not measured: {} page cache", enum_name(node.cache_state));
  if (node.cache_state == CacheState::direct) return "reads bypassed the page cache (O_DIRECT)";
  if (node.cache_state == CacheState::unknown) return "whether the data was cached is unknown";
  return {};
}

std::string decoding_words(const RunFacts& facts) {
  const auto& requirement = facts.requirement;
  const bool is_of_images = !requirement || requirement->is_of_images();
  if (!is_of_images && requirement->kind) {
    return fmt::format("samples are {}: judged only by reading", enum_name(*requirement->kind));
  }
  if (!facts.node.decode) return "no JPEG, PNG or WebP: decoding not measured";
  if (is_of_images && facts.node.images == image::ImageKind::jpeg) return {};
  if (is_of_images) return fmt::format("the images are {}, not JPEG", enum_name(facts.node.images));
  return "samples are not JPEGs: judged only by reading";
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
  return node.neighbors.disturb() ? "disturbed: " + node.neighbors.text() : "";
}

/// If the threads of the pipeline spent their time in another stage than the one that is slowest when measured
/// separately: that this is so. If both rates are close, both stages are named.
std::string other_attribution(const RunFacts& facts) {
  constexpr double kClose = 1.15;
  const StageRate& slowest = facts.slowest_on_host();
  const auto other = std::ranges::find_if(
      facts.separate, [&](const StageRate& rate) { return is_same_stage(rate.stage, facts.node.pipeline_stage); });
  if (!facts.node.pipeline || other == facts.separate.end() || &*other == &slowest) return {};
  if (other->samples_per_second < kClose * slowest.samples_per_second) {
    return fmt::format("{} is about as slow ({})", other->stage, sample_rate_text(other->samples_per_second));
  }
  return fmt::format(
      "this is uncertain: {} is the slowest stage when measured alone, but the pipeline waited for {}. Run again "
      "with a longer --budget",
      slowest.stage, other->stage);
}

/// That the node would feed the job, but probably not with PyTorch's loader.
std::string slower_loader_text(const RunFacts& facts, const LoaderAdvice& loader) {
  const bool is_read = !from_memory(facts.node);
  const bool is_decoded = decodes(facts.node, facts.requirement);
  return fmt::format("{}{}{} suffice{}: {} of {}/s; PyTorch with PIL does not: about {}/s, estimated",
                     is_read ? "storage" : "", is_read && is_decoded ? " and " : "",
                     is_decoded ? "decoding"
                     : is_read  ? ""
                                : "memory",
                     is_read && is_decoded ? "" : "s", rate_number(facts.rating->supply_per_second),
                     rate_number(facts.demand()), rate_number(loader.samples_per_second));
}

/// The first clause on a job.
std::string job_text(const RunFacts& facts, const RunSummary& summary) {
  const Verdict& verdict = summary.verdict;
  const Rating& rating = *facts.rating;
  if (!verdict.ok) {
    return fmt::format("undecided: {} {} of {}", verdict.limiting_stage, rate_number(rating.supply_per_second),
                       sample_rate_text(facts.demand()));
  }
  const bool is_slow = !meets(summary.loader.samples_per_second, facts.target()) && !summary.loader.line.empty();
  if (*verdict.ok && is_slow) return slower_loader_text(facts, summary.loader);
  const bool is_fed = verdict.limiting_stage == stage::kCompute;
  return fmt::format("{}: {} available, {} needed, predicted AU {}",
                     is_fed
                         ? "GPUs are fed"
                         : fmt::format("{}{} is the bottleneck", *verdict.ok ? "enough; " : "", rating.limiting_stage),
                     sample_rate_text(rating.supply_per_second), rate_number(facts.demand()),
                     au_text(rating.overlapped_au, facts.requirement->min_au));
}

/// The first clause without a job.
std::string rate_text(const RunFacts& facts, const RunSummary& summary) {
  if (decodes(facts.node, {})) {
    return fmt::format("{}; {} is the bottleneck", sample_rate_text(summary.predicted.samples_per_second),
                       summary.verdict.limiting_stage);
  }
  const StageRate& slowest = facts.slowest_on_host();
  return fmt::format("reads {} ({}){}", sample_rate_text(slowest.samples_per_second), format_rate(facts.node.read.rate),
                     slowest.stage == stage::kUnpack ? "; unpack is the bottleneck" : "");
}

std::string transfer_note(const RunFacts& facts) {
  const MeasuredNode& node = facts.node;
  const std::uint64_t gpus = facts.requirement ? facts.requirement->job.gpus : node.transfer_gpus;
  const std::string rate = format_rate(node.transfer->rate);
  if (gpus > 1) return fmt::format("{} to each, {} of {} at once", rate, node.transfer_gpus, gpus);
  return fmt::format("{} to the GPU, {} per copy", rate,
                     format_size(static_cast<std::uint64_t>(node.transfer_copy_bytes)));
}

}  // namespace

const StageRate& RunFacts::slowest_on_host() const {
  return *std::ranges::min_element(separate, {}, &StageRate::samples_per_second);
}
double RunFacts::demand() const { return samples_per_second(requirement->job); }
double RunFacts::target() const { return demand() * requirement->min_au; }

std::optional<double> RunFacts::rate_with_others(std::string_view stage) const {
  std::optional<double> lowest;
  for (const StageRate& rate : separate) {
    if (rate.stage == stage) lowest = std::min(lowest.value_or(rate.samples_per_second), rate.samples_per_second);
  }
  return lowest;
}

std::string stage_note(std::string_view stage, const RunFacts& facts, const LoaderAdvice& loader) {
  const MeasuredNode& node = facts.node;
  if (stage == stage::kRead) {
    return fmt::format("{}, {}, {:.0f} in flight", format_rate(node.read.rate), enum_name(node.cache_state),
                       node.readers);
  }
  if (stage == stage::kMoreReads) {
    return fmt::format("{}, {} in flight", format_rate(node.more_readers->bytes_per_second),
                       node.more_readers->readers);
  }
  if (stage == stage::kUnpack) {
    return fmt::format("alone, on {:.0f} cores; {} of CPU time each", unpacking_cores(node),
                       format_duration(node.unpack->cpu_seconds));
  }
  if (const bool is_decode = stage == stage::kDecode; is_decode || stage == stage::kAugment) {
    const double alone = is_decode ? node.decode->rate : node.augment->rate;
    if (facts.rate_with_others(stage)) return fmt::format("beside the others; alone {}/s", rate_number(alone));
    return is_decode ? "alone: decode and crop" : "alone: flip, normalize, collate";
  }
  if (stage == stage::kLoader) {
    return fmt::format("PyTorch with PIL, {} per GPU, calibrated", format_count(loader.workers, "worker"));
  }
  if (stage == stage::kTransfer) return transfer_note(facts);
  return fmt::format("all at once; {}/s expected", rate_number(facts.slowest_on_host().samples_per_second));
}

void add_verdict_text(const RunFacts& facts, RunSummary& summary) {
  constexpr std::size_t kMostClauses = 3;
  constexpr std::size_t kMostCharacters = 120;
  Verdict& verdict = summary.verdict;
  verdict.text = facts.rating ? job_text(facts, summary) : rate_text(facts, summary);
  std::size_t clauses = 1 + static_cast<std::size_t>(std::ranges::count(verdict.text, ';'));
  const bool is_fed = facts.rating && verdict.ok == true;
  for (const std::string& clause : {verdict.ok ? disturbance(facts.node) : std::string(), decoding_words(facts),
                                    cache_words(facts.node), is_fed ? std::string() : other_attribution(facts)}) {
    if (clause.empty()) continue;
    const bool has_space = clauses < kMostClauses && verdict.text.size() + 2 + clause.size() <= kMostCharacters;
    if (has_space && verdict.notes.empty()) {
      verdict.text += "; " + clause;
      ++clauses;
    } else {
      verdict.notes.push_back(clause);
    }
  }
}

std::string remedy_text(const RunFacts& facts, const RunSummary& summary) {
  if (!facts.rating || summary.verdict.ok == true) return {};
  const bool is_disturbed = facts.node.neighbors.disturb();
  if (!summary.verdict.ok) {
    return is_disturbed ? facts.node.neighbors.text() + ": run again on an idle machine"
                        : "this is within the error of the prediction, of 10 %: measure the loader of the job "
                          "(loader_probe.py), or run again with a longer --budget";
  }
  // What would close a gap cannot follow from rates that others made lower.
  if (is_disturbed) return "run again on an idle machine to find out what would close the gap";
  return remedy(facts, summary.loader) + also_short(facts);
}

}  // namespace shardkit::bench
