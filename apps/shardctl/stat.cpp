#include "dataset/stat/stat.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command stat_command() {
  return cli::make_command<dataset::StatOptions, dataset::StatResult>(
      {.name = "stat",
       .summary = "count samples and classes of shards, and say how large a shuffle buffer they need",
       .description =
           "Takes any tar shards, made by us or not. Reads the indexes beside them, and where there are none the "
           "shards' headers and labels. Says how sizes are spread, how even the classes are, how many of them a shard "
           "holds, and from that how many samples a loader has to hold to mix them.",
       .examples = {{"shardctl stat shards/train", "from indexes where there are any"},
                    {"shardctl stat 'laion/{00000..00099}.tar' --json -", "for a script"}}},
      dataset::stat);
}

}  // namespace shardkit::apps
