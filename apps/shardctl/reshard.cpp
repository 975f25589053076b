#include "dataset/reshard/reshard.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command reshard_command() {
  return cli::make_command(
      {.name = "reshard",
       .summary = "merge, split, shuffle, sort, filter or sample shards into other shards",
       .description =
           "Takes samples from any tar shards, made by us or not (USTAR, PAX, GNU, v7, compressed), and writes plain "
           "USTAR shards with sample indexes and a manifest. Contents stay byte for byte; extensions become lower "
           "case, "
           "and keys that some reader cannot carry are mapped. Options work in this order: --class, --key and sizes, "
           "then --sample, --split, then the order, then the cut into shards.\n\nThe same command after a kill goes on "
           "where it stopped; changed inputs or options are refused. The bytes depend on the inputs and options alone: "
           "not on threads, parts or machine.",
       .examples = {{"shardctl reshard a b merged --shuffle 7 --merge-classes", "two sets into one, classes by name"},
                    {"shardctl reshard shards even --shards 64", "as many equal shards as loaders want"},
                    {"shardctl reshard shards sets --split train=0.9,val=0.1",
                     "sets/train and sets/val, each with the same mix of labels"},
                    {"shardctl reshard 'laion-{00000..00041}.tar.gz' cats --key '*cat*' --drop-bad --rename jpeg=jpg",
                     "a part of a foreign set, and only images that decode"}},
       .resumable = true,
       .prometheus = true},
      dataset::reshard);
}

}  // namespace shardkit::apps
