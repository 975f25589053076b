#include "dataset/merge/merge.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command merge_command() {
  return cli::make_command<dataset::MergeOptions, dataset::MergeResult>(
      {.name = "merge",
       .summary = "join the parts of a distributed convert or reshard into one manifest",
       .description = "Checks that all parts exist and that every shard is complete, then writes the same manifest "
                      "that a convert in one part writes.",
       .examples = {{"shardctl merge shards/train", "after all parts have finished"}},
       .resumable = true},
      dataset::merge);
}

}  // namespace shardkit::apps
