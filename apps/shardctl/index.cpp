#include "dataset/index/index.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command index_command() {
  return cli::make_command<dataset::IndexOptions, dataset::IndexResult>(
      {.name = "index",
       .summary = "write manifest and sample indexes for shards made by others, and the indexes of other readers",
       .description =
           "Reads each shard once and writes .shardkit/<shard>.index with every sample's key, label, offset, size and "
           "checksum, then manifest.json. From then on verify checks every byte and stage copies with verification. "
           "Leaves alone what a convert wrote.\n\nWith --dali, --wids or --energon also writes what these readers keep "
           "beside the shards, for shards of a convert, too; where a manifest fits the shards, without reading them "
           "again (--wids does once, for the MD5 of each).",
       .examples = {{"shardctl index laion/shards", "all *.tar of a folder"},
                    {"shardctl index shards/train --dali --wids --energon", "for all other readers"}}},
      dataset::index);
}

}  // namespace shardkit::apps
