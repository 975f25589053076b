#include "dataset/index/index.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command index_command() {
  return cli::make_command<dataset::IndexOptions, dataset::IndexResult>(
      {.name = "index",
       .summary = "write manifest and sample indexes for shards of other programs, and indexes for other readers",
       .description =
           "Reads each shard once and writes .shardkit/<shard>.index with key, label, offset, size and checksum of "
           "every sample, then manifest.json. After that, verify checks every byte and stage verifies its copies. "
           "Never changes files written by convert.\n\nWith --dali, --wids or --energon, also writes the indexes of "
           "these readers next to the shards, including shards written by convert. If a manifest matches the shards, "
           "they are not read again, except for --wids, which needs the MD5 of each shard.",
       .examples = {{"shardctl index laion/shards", "all *.tar files of a folder"},
                    {"shardctl index shards/train --dali --wids --energon", "also indexes for all other readers"}}},
      dataset::index);
}

}  // namespace shardkit::apps
