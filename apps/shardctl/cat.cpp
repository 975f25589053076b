#include "dataset/cat/cat.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command cat_command() {
  return cli::make_command<dataset::CatOptions, dataset::CatResult>(
      {.name = "cat",
       .summary = "write one member of a shard to standard output",
       .description =
           "Finds a sample by its key, through indexes where there are any and else by headers, and writes the "
           "content of one member. KEY alone is enough for a sample with one member beside its label; otherwise "
           "KEY.EXT says which one.\n\n--json FILE tells where the bytes came from; --json - is refused, because "
           "standard output takes the bytes.",
       .examples = {{"shardctl cat shards/train n01440764/n01440764_10026 > fish.jpg", "the image"},
                    {"shardctl cat shards/train n01440764/n01440764_10026.cls", "its label"}},
       .streams = true},
      dataset::cat);
}

}  // namespace shardkit::apps
