#include "dataset/plan/plan.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command plan_command() {
  return cli::make_command<dataset::PlanOptions, dataset::PlanResult>(
      {.name = "plan",
       .summary = "scan a tree once and assign each sample to a shard",
       .description = "Reads names, sizes and times of all images, and writes the plan that converts on one or many "
                      "machines follow. Prints how many shards there will be and what a loader needs to shuffle them.",
       .examples = {{"shardctl plan imagenet/train -o train.plan",
                     "shuffled, at most 5000 samples or 256 MiB per shard"},
                    {"shardctl plan imagenet/train -o train.plan --shards 512 --world 64 --workers 8",
                     "a fixed number of shards, checked against the readers of the job"}}},
      dataset::plan);
}

}  // namespace shardkit::apps
