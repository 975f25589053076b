#include "bench/pipeline/pipeline_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_rows.hpp"

namespace shardkit {

CheckpointInterference interference(const PipelineRun& with, const PipelineRun& without, const CheckpointWriter& writer,
                                    std::uint64_t every) {
  CheckpointInterference result;
  result.every = every;
  result.bytes = static_cast<double>(writer.bytes());
  result.written = writer.count();
  if (writer.count() > 0) {
    result.mean_seconds = writer.seconds() / static_cast<double>(writer.count());
    result.bytes_per_second = result.bytes / std::max(result.mean_seconds, 1e-9);
  }
  result.max_seconds = writer.longest();
  result.share_ratio = with.log.checkpoint_share();
  result.samples_per_second_with = with.log.samples_per_second();
  result.samples_per_second_without = without.log.samples_per_second();
  constexpr std::uint64_t kTelling = 5;
  const bool slower = result.samples_per_second_with < result.samples_per_second_without;
  if (result.written >= kTelling && slower) {
    result.lost_ratio = 1 - result.samples_per_second_with / result.samples_per_second_without;
  }
  return result;
}

void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result) {
  const LoaderSettings& loader = run.loader;
  result.decode = loader.decode;
  result.normalize = loader.form == SampleForm::tensor ? NormalizeKind::cpu : NormalizeKind::gpu;
  result.step = setup.step.kind;
  result.gpus = loader.gpus;
  result.batch = loader.batch;
  result.step_seconds = setup.step.step_seconds;
  result.prefetch = loader.prefetch;
  result.readers = loader.readers;
  result.workers = loader.workers;
  result.crop = loader.crop;
  result.dtype = loader.type;
  result.layout = loader.layout;
  result.batch_memory = static_cast<double>(batches_in_memory(loader)) * static_cast<double>(loader.batch) *
                        static_cast<double>(sample_bytes(loader));
  result.cache.requested = options.cache;
  if (setup.step.step_seconds > 0) {
    result.required_samples_per_second = static_cast<double>(loader.gpus * loader.batch) / setup.step.step_seconds;
  }
}

CopyReport copy_report(const PipelineOptions& options, const std::vector<Device*>& gpus, const CopyTally& copies) {
  CopyReport report;
  for (const Device* gpu : gpus) report.devices.push_back(fmt::format("{}: {}", gpu->facts().index, gpu->facts().name));
  report.pinned = options.pinned != PinnedChoice::off;
  report.copies = copies.copies;
  report.bytes = copies.bytes;
  if (copies.seconds > 0) report.bytes_per_second = static_cast<double>(copies.bytes) / copies.seconds;
  return report;
}

JpegReport jpeg_report(const JpegDecoderFacts& decoder, const LoaderTally& tally) {
  const auto by = [&](JpegEngine engine) { return tally.paths.engines[static_cast<std::size_t>(engine)]; };
  JpegReport report;
  report.decoder = decoder.library;
  report.hardware = by(JpegEngine::hardware);
  report.hybrid = by(JpegEngine::hybrid);
  report.gpu_hybrid = by(JpegEngine::gpu_hybrid);
  report.cpu = tally.paths.cpu;
  report.returned = tally.paths.returned;
  const std::uint64_t on_gpu = report.hardware + report.hybrid + report.gpu_hybrid;
  if (on_gpu > 0) report.gpu_ratio = static_cast<double>(on_gpu) / static_cast<double>(tally.paths.total());
  const double all = tally.transfer.total_wall();
  if (all > 0) report.busy_ratio = tally.transfer.wall_of(Activity::decode) / all;
  return report;
}

void add_measurement(const PipelineRun& run, PipelineResult& result) {
  const PipelineVerdict verdict = judge_pipeline(pipeline_shares(run), run.loader.prefetch);
  result.limiting_stage = verdict.limiting_stage;
  result.reason = verdict.reason;
  result.advice = verdict.advice;
  result.steps = run.log.steps();
  result.samples = run.log.samples();
  result.samples_dropped = run.tally.dropped;
  result.samples_per_second = run.log.samples_per_second();
  if (run.tally.read_samples > 0) {
    result.mean_sample = static_cast<double>(run.tally.read_bytes) / static_cast<double>(run.tally.read_samples);
  }
  result.bytes_per_second = result.samples_per_second * result.mean_sample;
  result.batch_latency = run.log.batch_latency();
  result.first_batch_seconds = run.log.first_batch();
  result.stall_ratio = run.log.stall();
  result.au_ratio = run.log.au();
  result.stages = stage_rows(run);
  result.cpu_seconds_per_sample = cpu_seconds_per_sample(run);
  if (run.tally.decoded > 0) {
    result.process_cpu_seconds_per_sample = run.process_cpu_seconds / static_cast<double>(run.tally.decoded);
  }
  result.epochs = epoch_rows(run);
  result.failures = run.tally.failures;
  result.images_tried = run.tally.decoded + run.tally.failures.total;
  result.cache.residency_before_ratio = run.residency.front();
  result.cache.residency_after_ratio = run.residency_after;
}

}  // namespace shardkit
