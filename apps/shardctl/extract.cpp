#include "dataset/extract/extract.hpp"

#include "cli/command.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {

cli::Command extract_command() {
  return cli::make_command<dataset::ExtractOptions, dataset::ExtractResult>(
      {.name = "extract",
       .summary = "turn shards back into an ImageFolder tree",
       .description =
           "Writes every member of every sample: to its original path where the shard has an index of convert, else "
           "to <class>/<key>.<extension>, the class being the manifest's or the label. Labels become folders; "
           "side-cars ride along.\n\nAll names are checked before anything is written, and no link is followed: "
           "nothing leaves DST. Files that are there with the same content are kept, so the same command after a kill "
           "goes on; other content is a conflict and is never overwritten.\n\nWhere members meet at one path, also where a "
           "file has the name of a folder or the file system of DST does not tell upper from lower case, the folder or "
           "the first member keeps the name. Members with the same content share it. Each other gets '-' and 8 digits "
           "behind its stem, the same in each run, and a warning counts them.",
       .examples = {{"shardctl extract shards/train photos", "the tree that convert read, byte for byte"},
                    {"shardctl extract 'laion-{00000..00009}.tar' some", "some shards made by others"}},
       .resumable = true},
      dataset::extract);
}

}  // namespace shardkit::apps
