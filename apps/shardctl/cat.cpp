#include "dataset/cat/cat.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command cat_command() {
  return cli::make_command<dataset::CatOptions, dataset::CatResult>(
      {.name = "cat",
       .summary = "write one member of a shard to standard output",
       .description = "Finds a sample by its key and writes the content of one member. Uses shard indexes if they "
                      "exist, otherwise reads tar headers. For a sample with one member besides its label, KEY is "
                      "enough. Otherwise give KEY.EXT.\n\n--json FILE reports where the bytes were found. --json - is "
                      "not allowed because standard output is used for the content.",
       .examples = {{"shardctl cat shards/train n01440764/n01440764_10026 > fish.jpg", "the image"},
                    {"shardctl cat shards/train n01440764/n01440764_10026.cls", "its label"}},
       .streams = true},
      dataset::cat);
}

}  // namespace shardkit::apps
