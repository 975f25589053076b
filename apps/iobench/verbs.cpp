#include "iobench/verbs.hpp"

#include "bench/compare/ab_runs.hpp"
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

}  // namespace shardkit::apps
