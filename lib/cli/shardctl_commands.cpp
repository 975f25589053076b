#include "cli/app.hpp"
#include "cli/cache_commands.hpp"
#include "cli/command.hpp"
#include "cli/reports/ls_lines.hpp"
#include "dataset/cat/cat.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/index/index.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/stage/stage.hpp"
#include "dataset/stat/stat.hpp"
#include "dataset/synth/synth.hpp"
#include "dataset/verify/verify.hpp"

namespace shardkit {
namespace {

Command synth_command() {
  return make_command(
      {.name = "synth",
       .summary = "make a tree of photo-like JPEGs that are as large and as costly to decode as ImageNet's",
       .description = "Makes DIR/<class>/<class>_<number>.JPEG for trials and benchmarks where no data is at "
                      "hand. Sizes, sides, subsampling and decode cost follow ImageNet's distributions. Each "
                      "image depends on the seed, its class and its number alone.\n\nThe same call again keeps "
                      "what is whole and makes the rest. A folder that holds anything else is refused.",
       .examples = {{"shardctl synth /tmp/photos", "1000 images in 10 classes, about 110 MB"},
                    {"shardctl synth /tmp/photos --classes 1000 --per-class 20 --seed 7",
                     "many classes, other images"}},
       .resumable = true},
      synth);
}

Command plan_command() {
  return make_command<PlanOptions, PlanResult>(
      {.name = "plan",
       .summary = "scan a tree once and fix which sample goes to which shard",
       .description = "Reads names, sizes and times of all images, and writes the plan that converts on one or many "
                      "machines follow. Prints what the shards will be like and what a loader needs to shuffle them.",
       .examples = {{"shardctl plan imagenet/train -o train.plan", "5000 samples or 256 MiB a shard, shuffled"},
                    {"shardctl plan imagenet/train -o train.plan --shards 512 --world 64 --workers 8",
                     "a fixed number of shards, checked against the job's readers"}}},
      plan);
}

Command convert_command() {
  return make_command<ConvertOptions, ConvertResult>(
      {.name = "convert",
       .summary = "turn an ImageFolder tree into WebDataset tar shards",
       .description =
           "Writes shards, a sample index beside each, and a manifest with checksums. The bytes depend on the "
           "source's names and contents and on the options alone: not on threads, parts or machine.\n\nThe "
           "same command after a kill goes on where it stopped. A target of another plan is refused.",
       .examples = {{"shardctl convert imagenet/train shards/train", "shuffled shards of at most 256 MiB"},
                    {"shardctl convert imagenet/train shards/train --validate header --on-bad skip",
                     "leave out what is not an image, and list it"},
                    {"shardctl convert imagenet/train shards/train --plan train.plan --part auto",
                     "one part of many, as Slurm, Kubernetes or MPI number them; then: shardctl merge shards/train"},
                    {"shardctl convert imagenet shards",
                     "imagenet/train and imagenet/val to shards/train and shards/val"},
                    {"shardctl convert photos shards --split train=0.9,val=0.1 --stratify",
                     "two sets out of one tree, every class divided alike"},
                    {"shardctl convert pool shards --list labels.csv --path-column file --label-column class",
                     "images that a file lists, in no class folders"},
                    {"shardctl convert photos shards --metadata captions.jsonl", "each sample gets a .json of its row"},
                    {"shardctl convert imagenet/train shards/train --resize 256 --quality 90",
                     "images of 256 pixels on the shorter side: a quarter of the bytes, cheaper to decode"},
                    {"shardctl convert imagenet/train shards/train --index dali,energon",
                     "with the indexes that other readers want"}},
       .resumable = true,
       .prometheus = true},
      convert);
}

Command merge_command() {
  return make_command<MergeOptions, MergeResult>(
      {.name = "merge",
       .summary = "join the parts of a distributed convert into one manifest",
       .description =
           "Checks that all parts of one split are there and that every shard is whole, then writes the same "
           "manifest that a convert in one part writes.",
       .examples = {{"shardctl merge shards/train", "after all parts have ended"}},
       .resumable = true},
      merge);
}

Command verify_command() {
  return make_command(
      {.name = "verify",
       .summary = "check shards: archive, names, samples, labels, checksums, images, and the set as a whole",
       .description =
           "Takes any tar shards, made by us or not. Names every trap that some reader stumbles over. Errors are "
           "what readers lose or confuse data by, warnings what only some reader trips on; a warning alone fails "
           "only with --strict. What cannot be checked without checksums is not claimed: the result says what was "
           "checked.\n\nA repetition within a shard is counted in one line.",
       .examples = {{"shardctl verify shards/train", "every byte where there is a manifest, else structure"},
                    {"shardctl verify 'shards/x-{000000..000146}.tar' --depth structure", "reads headers only"},
                    {"shardctl verify shards/train --depth decode --junit report.xml", "every image too, for a CI job"},
                    {"shardctl verify shards/train --against imagenet/train", "is every file of the source there?"}},
       .findings = true},
      verify);
}

Command reshard_command() {
  return make_command(
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
       .examples = {{"shardctl reshard a b merged --shuffle 7", "two sets into one, all samples mixed"},
                    {"shardctl reshard shards even --shards 64", "as many equal shards as loaders want"},
                    {"shardctl reshard shards sets --split train=0.9,val=0.1 --stratify",
                     "sets/train and sets/val, each with the same mix of labels"},
                    {"shardctl reshard 'laion-{00000..00041}.tar.gz' cats --key '*cat*' --drop-bad --rename jpeg=jpg",
                     "a part of a foreign set, and only images that decode"}},
       .resumable = true,
       .prometheus = true},
      reshard);
}

Command index_command() {
  return make_command<IndexOptions, IndexResult>(
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
      index);
}

Command stat_command() {
  return make_command<StatOptions, StatResult>(
      {.name = "stat",
       .summary = "count samples and classes of shards, and say how large a shuffle buffer they need",
       .description =
           "Takes any tar shards, made by us or not. Reads the indexes beside them, and where there are none the "
           "shards' headers and labels. Says how sizes are spread, how even the classes are, how many of them a shard "
           "holds, and from that how many samples a loader has to hold to mix them.",
       .examples = {{"shardctl stat shards/train", "from indexes where there are any"},
                    {"shardctl stat 'laion/{00000..00099}.tar' --json -", "for a script"}}},
      stat);
}

Command ls_command() {
  return make_command<LsOptions, LsResult>(
      {.name = "ls",
       .summary = "list the members of shards",
       .description =
           "One line for each member: the shard and the name, parted by a tab; with --long shard, offset of the "
           "content, size, label (- for none) and name. Control characters in names are shown as \\x0a, so a line is "
           "always one member.\n\nLines are written as members are found and --json holds them all in memory: for "
           "millions of members prefer text. A reader that closes the pipe ends the listing quietly, with exit code 0.",
       .examples = {{"shardctl ls shards/train | head", "the first members"},
                    {"shardctl ls shards/train --long | sort -n -r -k 3 | head", "the largest ones"},
                    {"shardctl ls shards/shard-000003.tar --json -", "rows with shard, key, name, offset and size"}},
       .streams = true},
      ls_to_output);
}

Command cat_command() {
  return make_command<CatOptions, CatResult>(
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
      cat);
}

Command extract_command() {
  return make_command<ExtractOptions, ExtractResult>(
      {.name = "extract",
       .summary = "turn shards back into an ImageFolder tree",
       .description =
           "Writes every member of every sample: to its original path where the shard has an index of convert, else "
           "to <class>/<key>.<extension>, the class being the manifest's or the label. Labels become folders; "
           "side-cars ride along.\n\nAll names are checked before anything is written, and no link is followed: "
           "nothing leaves DST. Files that are there with the same content are kept, so the same command after a kill "
           "goes on; other content is a conflict and is never overwritten.",
       .examples = {{"shardctl extract shards/train photos", "the tree that convert read, byte for byte"},
                    {"shardctl extract 'laion-{00000..00009}.tar' some", "some shards made by others"}},
       .resumable = true},
      extract);
}

Command stage_command() {
  return make_command(
      {.name = "stage",
       .summary = "copy shards to a local disk, checked against their manifest",
       .description =
           "Copies shards, indexes and manifest, holds every byte against the manifest's checksums on the way, "
           "and ends with a marker, DST/.shardkit/staged.json.\n\nThe same command after a kill goes on "
           "inside the files it was copying. With all in place it takes milliseconds and reads no data. "
           "Several at once into one folder wait for the first and use what it brought.\n\nA lease keeps DST from "
           "eviction for --lease after that, because who stages is gone before the readers come. With --cache and "
           "--limit sets beside it that nobody leases make room, those used least recently first.",
       .examples = {{"shardctl stage /mnt/nfs/train /nvme/train", "all shards, verified"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --limit 500GB", "exit code 5 when they need more"},
                    {"shardctl stage s3://data/train /nvme/cache/train --cache /nvme/cache --limit 2TB --lease 25h",
                     "in a cache that jobs share"},
                    {"shardctl stage /mnt/nfs/files /nvme/files --manifest none", "any files, checked by size only"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --log json --soft-fail",
                     "in a Slurm prolog, which would drain the node if it failed"}},
       .resumable = true,
       .prometheus = true,
       .soft_fail = true},
      stage);
}

}  // namespace

App shardctl_app() {
  App app{.name = "shardctl",
          .summary = "turn image folders into WebDataset shards; verify, reshard, inspect and stage them",
          .commands = {synth_command(), plan_command(), convert_command(), merge_command(), verify_command(),
                       reshard_command(), index_command(), stat_command(), ls_command(), cat_command(),
                       extract_command(), stage_command()}};
  for (Command& command : cache_commands()) app.commands.push_back(std::move(command));
  return app;
}

}  // namespace shardkit
