#include "bench/model/model.hpp"

#include <string>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/text_report.hpp"
#include "core/field_tree.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {

cli::Answer answer_model(const bench::ModelResult& result) {
  bench::ModelResult numbers = result;
  numbers.text.clear();  // stands above
  return {.headline = result.text,
          .body = cli::text_report(shardkit::field_tree([&](FieldVisitor& v) { numbers.describe(v); }))};
}

cli::Command model_command() {
  return cli::make_command<bench::ModelOptions, bench::ModelResult>(
      {.name = "model",
       .summary = "work out what a training job needs of its input, or how many GPUs a node can feed",
       .description =
           "Arithmetic only. From a job (--preset, or --gpus, --batch, --step-time and --sample-bytes) follow samples "
           "and bytes per second, decode cores, transfer rate and memory. With a supply beside it, measured (--from) "
           "or given, the stage that limits, and the GPUs' utilisation with full overlap and with none. A supply alone "
           "is held against every preset. docs/model.md has the formulas.",
       .examples = {{"iobench model --list-presets", "published workloads and what one GPU of each takes"},
                    {"iobench model --gpus 8 --batch 256 --step-time 0.2 --sample-bytes 130kB", "1.33 GB/s"},
                    {"iobench model --preset resnet50-h100 --gpus 8 --from run.json",
                     "is what was measured enough for that job? Exit code 3 when it is not"}}},
      bench::model, answer_model);
}

}  // namespace shardkit::apps
