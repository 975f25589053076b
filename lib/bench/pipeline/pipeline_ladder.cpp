
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_setup.hpp"
#include "core/error.hpp"

namespace shardkit::bench {
namespace {

struct Rung {
  std::string_view name;
  bool pinned;
  std::string prefetch;
  DecodeKind decode;
  NormalizeKind normalize;
};

std::array<Rung, 5> rungs(const PipelineOptions& options) {
  using enum DecodeKind;
  return {{{"naive", false, "0", cpu, NormalizeKind::cpu},
           {"pinned, one batch prefetched", true, "1", cpu, NormalizeKind::cpu},
           {"normalized on the GPU", true, "1", cpu, NormalizeKind::gpu},
           {"nvJPEG", true, "1", nvjpeg, NormalizeKind::gpu},
           {"all overlapped", true, options.prefetch, nvjpeg, NormalizeKind::gpu}}};
}

PipelineRung row_of(const Rung& rung) {
  PipelineRung row;
  row.rung = rung.name;
  row.pinned = rung.pinned;
  row.prefetch = parse_prefetches(rung.prefetch).front();
  row.decode = rung.decode;
  row.normalize = rung.normalize;
  return row;
}

void fill(const PipelineResult& result, PipelineRung& row) {
  row.samples_per_second = result.samples_per_second;
  row.stall_ratio = result.stall_ratio;
  row.au_ratio = result.au_ratio;
  row.process_cpu_seconds_per_sample = result.process_cpu_seconds_per_sample;
  row.limiting_stage = result.limiting_stage;
}

PipelineOptions options_of(const Rung& rung, PipelineOptions options) {
  options.ladder = false;
  options.pinned = rung.pinned;
  options.prefetch = rung.prefetch;
  options.backend = rung.decode;
  options.normalize = rung.normalize;
  if (options.cache == CacheRequest::any) options.cache = CacheRequest::warm;
  return options;
}

/// Measures a rung. Empty, with the reason in `row`, if images cannot be decoded on these GPUs.
std::optional<PipelineResult> climb(const Rung& rung, const PipelineOptions& options, const InputSet& input,
                                    const PipelineMachine& machine, Context& context, PipelineRung& row) {
  try {
    PipelineResult result = pipeline(options_of(rung, options), input, machine, context);
    fill(result, row);
    return result;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || rung.decode != DecodeKind::nvjpeg) throw;
    row.missing = error.what();
    return std::nullopt;
  }
}

}  // namespace

void check_ladder(const PipelineOptions& options) {
  if (!options.ladder) return;
  const auto refuse = [](std::string_view option, std::string_view why) { throw usage_error("{}: {}", option, why); };
  constexpr std::string_view kSet = "--ladder sets it for each loader that it compares; leave it out";
  if (options.normalize != NormalizeKind::automatic) refuse("--normalize", kSet);
  if (options.backend != DecodeKind::cpu) refuse("--backend", kSet);
  const auto prefetches = parse_prefetches(options.prefetch);
  if (prefetches.size() > 1 || prefetches.front() < 2) {
    refuse("--prefetch", "with --ladder, give one number of at least 2: the prefetch of the last loader");
  }
  if (options.trace) refuse("--trace", "a trace is of one run, but --ladder makes several");
  if (options.checkpoint_every)
    refuse("--checkpoint-every", "--ladder compares loaders without checkpoints; leave it out");
}

PipelineResult climb_ladder(const PipelineOptions& options, const InputSet& input, const PipelineMachine& machine,
                            Context& context) {
  if (machine.devices.empty()) throw Error(ErrorCode::unsupported, "--ladder: no GPU is available");
  std::vector<PipelineRung> rows;
  PipelineResult last;
  double before = 0;
  bool decodes = true;
  const auto all = rungs(options);
  context.progress().expect_stages(all.size());
  for (Rung rung : all) {
    if (!decodes) rung.decode = DecodeKind::cpu;
    PipelineRung row = row_of(rung);
    context.progress().next_stage();
    if (auto result = climb(rung, options, input, machine, context, row)) {
      last = *std::move(result);
      if (before > 0) row.factor = last.samples_per_second / before;
      before = last.samples_per_second;
    }
    decodes = !row.missing;
    rows.push_back(std::move(row));
    if (last.interrupted) break;
  }
  last.ladder = std::move(rows);
  return last;
}

void PipelineRung::describe(FieldList& v) {
  v.field({"rung", "the loader: what it adds to the previous one"}, rung);
  v.field({"missing", "why it was not measured; absent if it was"}, missing);
  v.field({"pinned", "kind of host memory"}, pinned);
  v.field({"prefetch", "batches prefetched per GPU"}, prefetch);
  v.field({"decode", "how images were decoded"}, decode);
  v.field({"normalize", "where samples were flipped and normalized"}, normalize);
  v.field({"samples_per_second", Unit::per_second, "rate of samples used by training steps"}, samples_per_second);
  v.field({"factor", "that rate divided by the rate of the previous measured loader"}, factor);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilization"}, au_ratio);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "CPU time of the whole process"},
          process_cpu_seconds_per_sample);
  v.field({"limiting_stage", "bottleneck"}, limiting_stage);
}

}  // namespace shardkit::bench
