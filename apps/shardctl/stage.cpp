#include "dataset/stage/stage.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command stage_command() {
  return cli::make_command(
      {.name = "stage",
       .summary = "copy shards to a local disk and verify them with their manifest",
       .description =
           "Copies shards, indexes and manifest, compares every byte with the manifest's checksums while copying, and "
           "writes the marker DST/.shardkit/staged.json at the end.\n\nAfter an interruption, run the same command "
           "again to continue inside the files. If everything is already there, the command takes milliseconds and "
           "reads no data. Several stages into one folder wait for the first and use its files.\n\nA lease protects "
           "DST from eviction for --lease after the stage, because the staging process exits before the readers start. "
           "With --cache and --limit, evicts sets without a lease, least recently used first.",
       .examples = {{"shardctl stage /mnt/nfs/train /nvme/train", "all shards, verified"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --limit 500GB", "exit code 5 if they need more"},
                    {"shardctl stage s3://data/train /nvme/cache/train --cache /nvme/cache --limit 2TB --lease 25h",
                     "into a cache that jobs share"},
                    {"shardctl stage /mnt/nfs/files /nvme/files --manifest none", "any files, checked only by size"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --log json --soft-fail",
                     "in a Slurm prolog, which would drain the node if it failed"}},
       .resumable = true,
       .prometheus = true,
       .soft_fail = true},
      dataset::stage);
}

}  // namespace shardkit::apps
