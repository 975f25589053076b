#include "iobench/verbs.hpp"

#include "bench/compare/ab_runs.hpp"
#include "bench/requirement/requirement.hpp"
#include "programs.hpp"
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
  return {
      .name = "iobench",
      .summary = "measure what a node can feed its GPUs, and what training needs",
      .commands = {run_command(), env_command(), read_command(), decode_command(), transfer_command(),
                   pipeline_command(), checkpoint_command(), sweep_command(), model_command(), watch_command(),
                   compare_command(), aggregate_command(), report_command()},
      .elsewhere = {{"--html", "run `iobench report FILE.json -o page.html` with the FILE.json of --json"},
                    {"run --expect", "--barrier names missing nodes from SLURM_JOB_NODELIST"},
                    {"run --barrier-wait", "--barrier waits for 10 minutes"},
                    {"pipeline --checkpoint-every", "measure checkpoints with `iobench checkpoint`"},
                    {"pipeline --checkpoint-bytes", "measure checkpoints with `iobench checkpoint`"},
                    {"pipeline --checkpoint-dir", "measure checkpoints with `iobench checkpoint`"},
                    {"pipeline --readers", "pipeline chooses the number of reading threads"},
                    {"pipeline --normalize", "samples are normalized where they are decoded; --ladder compares both"},
                    {"model --egress-cost", "multiply the required bytes per second by the price"},
                    {"model --decode-per-core", "use --from with a result of `iobench decode`"},
                    {"compare --seed", "the result has the order of the runs"},
                    {"pipeline --shuffle-buffer", "pipeline keeps the order of the shards"},
                    {"pipeline --seed", "all runs have the same order, crops and flips"},
                    {"read --seed", "all runs read in the same order"},
                    {"decode --seed", "all runs have the same crops and flips"},
                    {"decode --scale", "use --crop, as loaders do"},
                    {"env --prefetch", "env computes /dev/shm for 2 prefetched batches; see `iobench model`"},
                    {"env --crop", "env computes /dev/shm for crops of 224 pixels; see `iobench model`"},
                    {"env --dtype", "env computes /dev/shm for f32; see `iobench model`"},
                    {"sweep --dtype", "sweep decodes to f32; choose another type for `iobench run`"},
                    {"transfer --threads", "four threads read the file of --gds"},
                    {"sweep --direct", "give `iobench read --direct` the settings that sweep prints"},
                    {"read --job", "set --mode, --block, --threads, --engine, --direct and --min-time"},
                    {"checkpoint --job", "use --direct --mode sync --threads 4 --bytes 40GiB"},
                    {"checkpoint --scale", "use --bytes, also with --preset"},
                    {"checkpoint --block", "each write has 1 MiB; use fio to compare other sizes"}},
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
      .result_variable = bench::kResultVariable};
}

}  // namespace shardkit::apps
