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

/// The cores or bytes per second that would close the gap, and other remedies.
std::string remedy(const RunFacts& facts) {
  const std::string& stage = facts.rating->limiting_stage;
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
  if (from_memory(node)) return fmt::format("; storage was not measured: {} page cache", enum_name(node.cache_state));
  if (node.cache_state == CacheState::direct) return "; reads bypassed the page cache (O_DIRECT)";
  if (node.cache_state == CacheState::unknown) return "; whether the data was cached is unknown";
  return {};
}

std::string decoding_words(const RunFacts& facts) {
  const auto& requirement = facts.requirement;
  const bool is_of_images = !requirement || requirement->is_of_images();
  if (!is_of_images && requirement->kind) {
    return fmt::format("; samples are {}: judged only by reading", enum_name(*requirement->kind));
  }
  if (!facts.node.decode) return "; the data contains no JPEG, PNG or WebP: decoding was not measured";
  if (is_of_images && facts.node.images == image::ImageKind::jpeg) return {};
  if (is_of_images) return fmt::format("; the images are {}, not JPEG", enum_name(facts.node.images));
  return fmt::format("; samples of {} are not JPEGs: judged only by reading", requirement->preset->name);
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
std::string other_attribution(const RunFacts& facts) {
  constexpr double kClose = 1.15;
  const StageRate& slowest = facts.slowest_on_host();
  const auto other = std::ranges::find_if(
      facts.separate, [&](const StageRate& rate) { return is_same_stage(rate.stage, facts.node.pipeline_stage); });
  if (!facts.node.pipeline || other == facts.separate.end() || &*other == &slowest) return {};
  if (other->samples_per_second < kClose * slowest.samples_per_second) {
    return fmt::format("; {} is about as slow ({})", other->stage, sample_rate_text(other->samples_per_second));
  }
  return fmt::format(
      "; this is uncertain: {} is the slowest stage when measured alone, but the pipeline waited for {}. Run again "
      "with a longer --budget",
      slowest.stage, other->stage);
}

/// That the node would feed the job, but not with PyTorch's loader.
std::string slower_loader(const RunFacts& facts, const LoaderAdvice& loader) {
  if (loader.samples_per_second >= facts.target() || loader.line.empty()) return {};
  return fmt::format("; but PyTorch with PIL delivers only about {} with {} per GPU{}",
                     sample_rate_text(loader.samples_per_second), format_count(loader.workers, "worker"),
                     facts.node.neighbors.disturb() ? " on an idle machine" : "");
}

std::string text_on_job(const RunFacts& facts, const RunSummary& summary) {
  const Verdict& verdict = summary.verdict;
  const std::string numbers = fmt::format(
      "{} available, {} needed, predicted AU {:.0f} %{}{}", sample_rate_text(facts.rating->supply_per_second),
      rate_number(facts.demand()), facts.rating->overlapped_au * 100, decoding_words(facts), cache_words(facts.node));
  if (!verdict.ok) {
    return fmt::format("undecided: {} {} of {}", verdict.limiting_stage, rate_number(facts.rating->supply_per_second),
                       sample_rate_text(facts.demand()));
  }
  std::string text = fmt::format("{} is the bottleneck: {}", verdict.limiting_stage, numbers);
  if (verdict.limiting_stage == stage::kCompute) text = "GPUs are fed: " + numbers;
  if (!*verdict.ok) return text + other_attribution(facts) + disturbance(facts.node);
  if (verdict.limiting_stage != stage::kCompute) text.insert(0, "enough; ");
  return text + disturbance(facts.node) + slower_loader(facts, summary.loader);
}

std::string text_without_job(const RunFacts& facts, const RunSummary& summary) {
  const MeasuredNode& node = facts.node;
  if (decodes(node, {})) {
    return fmt::format("{}; {} is the bottleneck{}{}{}{}", sample_rate_text(summary.predicted.samples_per_second),
                       summary.verdict.limiting_stage, decoding_words(facts), cache_words(node),
                       other_attribution(facts), disturbance(node));
  }
  const StageRate& slowest = facts.slowest_on_host();
  return fmt::format("reads {} ({}){}{}{}{}", sample_rate_text(slowest.samples_per_second), format_rate(node.read.rate),
                     slowest.stage == stage::kUnpack ? "; unpack is the bottleneck" : "", decoding_words(facts),
                     cache_words(node), disturbance(node));
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

std::string stage_note(std::string_view stage, const RunFacts& facts) {
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
  if (stage == stage::kDecode) return fmt::format("beside the others; alone {}/s", rate_number(node.decode->rate));
  if (stage == stage::kAugment) return "alone: flip, normalize, collate";
  if (stage == stage::kTransfer) return transfer_note(facts);
  return fmt::format("all at once; {}/s expected", rate_number(facts.slowest_on_host().samples_per_second));
}

std::string verdict_text(const RunFacts& facts, const RunSummary& summary) {
  return facts.rating ? text_on_job(facts, summary) : text_without_job(facts, summary);
}

std::string remedy_text(const RunFacts& facts, const Verdict& verdict) {
  if (!facts.rating || verdict.ok == true) return {};
  if (!verdict.ok) {
    return fmt::format("{}: run again on an idle machine{}{}", facts.node.neighbors.text(), decoding_words(facts),
                       cache_words(facts.node));
  }
  // What would close a gap cannot follow from rates that others made lower.
  if (facts.node.neighbors.disturb()) return "run again on an idle machine to find out what would close the gap";
  return remedy(facts) + also_short(facts);
}

}  // namespace shardkit::bench
