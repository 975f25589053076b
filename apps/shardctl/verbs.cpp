#include "shardctl/verbs.hpp"

#include "programs.hpp"
#include "stores_topic.hpp"

namespace shardkit::apps {

cli::App shardctl_app() {
  return {
      .name = "shardctl",
      .summary = "turn image folders into WebDataset shards, verify and stage them",
      .commands = {synth_command(),    plan_command(),        convert_command(),    parts_command(),
                   merge_command(),    verify_command(),      reshard_command(),    index_command(),
                   stat_command(),     ls_command(),          cat_command(),        extract_command(),
                   stage_command(),    upload_command(),      cache_ls_command(),   cache_warm_command(),
                   cache_gc_command(), cache_check_command(), cache_hold_command(), cache_release_command(),
                   cache_rm_command()},
      .synonyms = {{"validate", "verify"},
                   {"check", "verify"},
                   {"pack", "convert"},
                   {"create", "convert"},
                   {"append", "convert"},
                   {"info", "stat"},
                   {"list", "ls"},
                   {"show", "cat"},
                   {"download", "stage"},
                   {"sync", "stage"},
                   {"copy", "stage"},
                   {"put", "upload"},
                   {"split", "reshard"},
                   {"shuffle", "reshard"},
                   {"unpack", "extract"}},
      .elsewhere = {{"--html", "run `iobench report FILE.json -o page.html` with the FILE.json of --json"},
                    {"--allow-empty", "move the empty class folder away"},
                    {"--keep-cached", "read the shards once after the command"},
                    {"--min-size", "choose samples by --key or --class"},
                    {"--max-size", "--drop-bad also leaves out samples that are too large"},
                    {"plan --world", "give --multiple-of the number of ranks times loader workers"},
                    {"plan --workers", "give --multiple-of the number of ranks times loader workers"},
                    {"stage --keep-going", "stage now always copies the other files when one fails"},
                    {"stage --memory", "stage uses a quarter of the memory that the process may use, at most 256 MiB"},
                    {"stage --validate", "stage compares the checksums of a manifest, or else of the store"},
                    {"cat --threads", "leave it out"},
                    {"cache warm --threads", "leave it out"},
                    {"upload --tags", "set tags with the tools of the store"},
                    {"cache renew", "run the same `shardctl stage` again, or keep `shardctl cache hold` running"},
                    {"cache check --junit", "use --json"},
                    {"cache check --markdown", "use --json"}},
      .pages = {{"synth", "explain/synth.md"},
                {"plan", "how-to/imagenet-slurm.md"},
                {"convert", "explain/samples.md"},
                {"parts", "how-to/imagenet-slurm.md"},
                {"merge", "how-to/imagenet-slurm.md"},
                {"verify", "explain/verify.md"},
                {"reshard", "how-to/reshard.md"},
                {"index", "how-to/other-readers.md"},
                {"ls", "explain/inputs.md"},
                {"cat", "explain/inputs.md"},
                {"stat", "how-to/look-inside.md"},
                {"extract", "explain/samples.md"},
                {"stage", "explain/staging.md"},
                {"upload", "how-to/upload.md"},
                {"cache", "how-to/node-cache.md"},
                {"stores", "explain/staging.md"}},
      .shared_topics = {stores_topic()}};
}

}  // namespace shardkit::apps
