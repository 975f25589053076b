#include "cli/command.hpp"
#include "cli/programs.hpp"
#include "dataset/convert.hpp"
#include "dataset/index.hpp"
#include "dataset/merge.hpp"
#include "dataset/plan.hpp"
#include "dataset/stage.hpp"
#include "dataset/synth.hpp"
#include "dataset/verify.hpp"

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
       .summary = "check shards: archive, names, samples, labels, checksums, and keys across shards",
       .description =
           "Takes any tar shards, made by us or not. Names every trap that some reader stumbles over. Errors are "
           "what readers lose or confuse data by, warnings what only some reader trips on; a warning alone fails "
           "only with --strict. What cannot be checked without checksums is not claimed: the result says what was "
           "checked.\n\nA repetition within a shard is counted in one line.",
       .examples = {{"shardctl verify shards/train", "every byte where there is a manifest, else structure"},
                    {"shardctl verify 'shards/x-{000000..000146}.tar' --depth structure", "reads headers only"},
                    {"shardctl verify shards/train --strict --json report.json", "for a CI job"}}},
      verify);
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

Command stage_command() {
  return make_command(
      {.name = "stage",
       .summary = "copy shards to a local disk, checked against their manifest",
       .description =
           "Copies shards, indexes and manifest, holds every byte against the manifest's checksums on the way, "
           "and ends with a marker, DST/.shardkit/staged.json.\n\nThe same command after a kill goes on "
           "inside the files it was copying. With all in place it takes milliseconds and reads no data. "
           "Several at once into one folder wait for the first and use what it brought.",
       .examples = {{"shardctl stage /mnt/nfs/train /nvme/train", "all shards, verified"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --limit 500GB", "exit code 5 when they need more"},
                    {"shardctl stage /mnt/nfs/files /nvme/files --manifest none", "any files, checked by size only"}},
       .resumable = true,
       .prometheus = true},
      stage);
}

}  // namespace

App shardctl_app() {
  return {.name = "shardctl",
          .summary = "turn image folders into WebDataset shards, and verify and stage them",
          .commands = {synth_command(), plan_command(), convert_command(), merge_command(), verify_command(),
                       index_command(), stage_command()}};
}

}  // namespace shardkit
