#include "dataset/stat/stat.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command stat_command() {
  return cli::make_command<dataset::StatOptions, dataset::StatResult>(
      {.name = "stat",
       .summary = "count samples and classes of shards, and report how large a shuffle buffer they need",
       .description = "Takes any tar shards, also of other programs. Reads their indexes if they exist, otherwise tar "
                      "headers and labels. Reports how sizes are distributed, how balanced the classes are, how many "
                      "classes a shard contains, and how many samples a loader must buffer to mix them.",
       .examples = {{"shardctl stat shards/train", "from indexes if they exist"},
                    {"shardctl stat 'laion/{00000..00099}.tar' --json -", "for scripts"}}},
      dataset::stat);
}

}  // namespace shardkit::apps
