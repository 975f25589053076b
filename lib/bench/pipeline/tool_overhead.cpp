#include "bench/pipeline/tool_overhead.hpp"

#include <algorithm>

#include "bench/pipeline/pipeline_rows.hpp"

namespace shardkit {
namespace {

/// Long enough for tens of thousands of samples of nothing.
constexpr double kCalibrationSeconds = 0.15;

}  // namespace

PipelineRun calibrate(const PipelineSetup& setup, Context& context) {
  const auto source = null_source();
  const auto sink = host_sink();
  LoaderSettings loader = setup.loader;
  loader.prefetch = std::max<std::uint64_t>(setup.prefetches.back(), 1);
  loader.readers = 1;
  loader.decode = DecodeKind::null;
  loader.crop = 1;
  loader.form = SampleForm::tensor;
  loader.flow.samples.reset();
  loader.flow.shuffle_samples = 0;
  return run_pipeline({*source, *sink, {}, CacheRequest::any, 1, kCalibrationSeconds, kGuessedSampleBytes}, loader,
                      {setup.loader.gpus, 0, 0}, nullptr, nullptr, context);
}

ToolOverhead tool_overhead(const PipelineRun& calibration, const PipelineRun& run) {
  ToolOverhead overhead;
  const double measured = cpu_seconds_per_sample(run);
  const double batches = static_cast<double>(calibration.tally.decoded) / static_cast<double>(calibration.loader.batch);
  overhead.samples_per_second = calibration.log.samples_per_second();
  overhead.cpu_seconds_per_sample = cpu_seconds_per_sample(calibration);
  const double at_batches = calibration.tally.transfer.total_cpu() + calibration.step_times.total_cpu();
  overhead.cpu_seconds_per_batch = batches > 0 ? at_batches / batches : 0;
  overhead.share_ratio = measured > 0 ? std::min(1.0, overhead.cpu_seconds_per_sample / measured) : 0;
  overhead.step_late_mean = run.log.mean_late();
  overhead.step_late_max = run.log.most_late();
  return overhead;
}

}  // namespace shardkit
