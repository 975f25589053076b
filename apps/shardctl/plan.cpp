#include "dataset/plan/plan.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command plan_command() {
  return cli::make_command<dataset::PlanOptions, dataset::PlanResult>(
      {.name = "plan",
       .summary = "scan a tree once and fix which sample goes to which shard",
       .description = "Reads names, sizes and times of all images, and writes the plan that converts on one or many "
                      "machines follow. Prints what the shards will be like and what a loader needs to shuffle them.",
       .examples = {{"shardctl plan imagenet/train -o train.plan", "5000 samples or 256 MiB a shard, shuffled"},
                    {"shardctl plan imagenet/train -o train.plan --shards 512 --world 64 --workers 8",
                     "a fixed number of shards, checked against the job's readers"}}},
      dataset::plan);
}

}  // namespace shardkit::apps
