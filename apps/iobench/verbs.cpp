#include "iobench/verbs.hpp"

#include <fmt/format.h>

#include "bench/compare/ab_runs.hpp"
#include "core/units.hpp"
#include "programs.hpp"

namespace shardkit::apps {

cli::App iobench_app() {
  return {.name = "iobench",
          .summary = "measure what a node can feed its GPUs, and compare it with what training needs",
          .commands = {run_command(), env_command(), read_command(), decode_command(), transfer_command(),
                       pipeline_command(), checkpoint_command(), sweep_command(), model_command(), watch_command(),
                       compare_command()},
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
                    {"compare", "explain/comparing.md"}},
          .result_variable = bench::kResultVariable};
}

std::string percent_cell(const std::optional<double>& ratio, int digits) {
  return ratio ? fmt::format("{:.{}f} %", *ratio * 100, digits) : "-";
}

std::string per_second_cell(const std::optional<double>& count) {
  return count ? format_rounded_count(*count) + "/s" : "-";
}

}  // namespace shardkit::apps
