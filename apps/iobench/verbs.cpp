#include "iobench/verbs.hpp"

#include "bench/compare/ab_runs.hpp"
#include "bench/requirement/requirement.hpp"
#include "programs.hpp"
#include "remedy_words.hpp"
#include "stores_topic.hpp"

namespace shardkit::apps {
namespace {

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const bench::Preset& preset : bench::presets()) names.push_back(preset.name);
  return names;
}

}  // namespace

cli::App iobench_app() {
  return {.name = "iobench",
          .summary = "measure what a node can feed its GPUs, and what training needs",
          .commands = {run_command(), env_command(), read_command(), decode_command(), transfer_command(),
                       pipeline_command(), checkpoint_command(), sweep_command(), model_command(), watch_command(),
                       compare_command(), aggregate_command(), report_command()},
          .pages = {{"run", "how-to/reading-a-verdict.md"},
                    {"env", "explain/env.md"},
                    {"read", "explain/measuring.md"},
                    {"decode", "explain/measuring.md"},
                    {"transfer", "explain/gpu.md"},
                    {"pipeline", "explain/pipeline.md"},
                    {"checkpoint", "explain/measuring.md"},
                    {"sweep", "explain/measuring.md"},
                    {"model", "explain/model.md"},
                    {"watch", "explain/watch.md"},
                    {"compare", "explain/comparing.md"},
                    {"report", "explain/report.md"},
                    {"aggregate", "explain/report.md"},
                    {"stores", "explain/staging.md"}},
          .shared_topics = {stores_topic()},
          .option_values = {{"preset", preset_names()}},
          .remedies = remedy_words(),
          .result_variable = bench::kResultVariable};
}

}  // namespace shardkit::apps
