#include "bench/model/model.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {

namespace {

/// MLPerf Storage divides by 2^20 and prints MB/s: people compare its numbers with these.
std::vector<std::string> mlperf_units(const bench::ModelResult& result) {
  constexpr double kMlperfMegabyte = 1 << 20;
  const bool is_of_mlperf = result.edition && result.edition->starts_with("MLPerf");
  if (!result.presets.empty()) return {"MLPerf Storage prints MiB/s as MB/s: 1,000 MB/s there are 1.05 GB/s here"};
  if (!is_of_mlperf || !result.required) return {};
  const double there = result.required->bytes_per_second / kMlperfMegabyte;
  return {fmt::format("MLPerf Storage prints MiB/s as MB/s: {} here are {} MB/s there",
                      format_rate(result.required->bytes_per_second), bench::rate_number(there))};
}

}  // namespace

cli::Answer answer_model(const bench::ModelResult& result) {
  bench::ModelResult numbers = result;
  numbers.text.clear();  // shown above
  return {.headline = result.text,
          .body = cli::text_report(shardkit::field_tree([&](FieldList& v) { numbers.describe(v); })),
          .hints = mlperf_units(result),
          .complete = true};
}

cli::Command model_command() {
  return cli::make_command<bench::ModelOptions, bench::ModelResult>(
      {.name = "model",
       .summary = "compute what a training job needs, or how many GPUs a node feeds",
       .description = "Calculates only, measures nothing. From a job (--preset, or --gpus, --batch, --step-time and "
                      "--sample-bytes) it computes samples and bytes per second, decode cores, transfer rate and "
                      "memory. With a supply, measured (--from) or given by options, it also names the bottleneck and "
                      "predicts GPU utilization with full overlap and without overlap. A supply without a job is "
                      "compared with every preset.",
       .examples = {{"iobench model --list-presets", "published workloads and what one GPU of each needs"},
                    {"iobench model --gpus 8 --batch 256 --step-time 0.2 --sample-bytes 130kB", "1.33 GB/s"},
                    {"iobench model --preset resnet50-h100 --gpus 8 --from run.json",
                     "does the measured supply meet the needs of that job? Exit code 3 if not"}},
       .main = {"list-presets", "preset", "gpus", "batch", "step-time", "sample-bytes", "from", "read-rate",
                "decode-rate"}},
      bench::model, answer_model);
}

}  // namespace shardkit::apps
