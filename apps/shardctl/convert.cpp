#include "dataset/convert/convert.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"
#include "shardctl/written_sets.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_convert(const dataset::ConvertOptions& options, const dataset::ConvertResult& result) {
  dataset::ConvertOptions again = options;
  again.dry_run = false;
  cli::Answer answer = answer_of(result, options, options.target, command_text("shardctl convert", again));
  auto& facts = answer.facts;
  facts.emplace_back("before", count_text(result.samples_before, "sample"));
  facts.emplace_back("left out", count_text(result.skipped, "file"));
  facts.emplace_back("kept bad", count_text(result.kept_bad, "image"));
  facts.emplace_back("resized", count_text(result.resized, "image"));
  for (const dataset::AcceptedImages& accepted : result.accepted) {
    facts.emplace_back("accepted", fmt::format("{} with {}", format_count(accepted.images, "image"), accepted.code));
  }
  return answer;
}

}  // namespace

cli::Command convert_command() {
  return cli::make_command<dataset::ConvertOptions, dataset::ConvertResult>(
      {.name = "convert",
       .summary = "turn an ImageFolder tree into WebDataset tar shards",
       .description =
           "Writes shards, a sample index beside each, and a manifest with checksums. The bytes depend on the "
           "source's names and contents and on the options alone: not on threads, parts or machine.\n\nThe "
           "same command after a kill goes on where it stopped. A target of another plan is refused.\n\nBad files do "
           "not "
           "stop a run: it writes all shards without one, lists the bad ones and ends with exit code 4. Correct or "
           "delete "
           "them and run the same command again, or leave them out with --on-bad skip.",
       .examples = {{"shardctl convert imagenet/train shards/train", "shuffled shards of at most 256 MiB"},
                    {"shardctl convert imagenet/train shards/train --on-bad skip --max-bad 0.1%",
                     "leave out what is not an image, and list it; fail if it is more than one in a thousand"},
                    {"shardctl convert imagenet/train shards/train --plan train.plan --part auto",
                     "one part of many, as Slurm, Kubernetes or MPI number them; then: shardctl merge shards/train"},
                    {"shardctl convert imagenet shards",
                     "imagenet/train and imagenet/val to shards/train and shards/val"},
                    {"shardctl convert photos shards --split train=0.9,val=0.1",
                     "two sets from one tree; an image stays in its set when others are added"},
                    {"shardctl convert photos shards --append",
                     "add what is new in photos to a finished set, in new shards"},
                    {"shardctl convert clips shards --split train=0.9,val=0.1 --group-by dir",
                     "the same; all frames of a folder go to one set"},
                    {"shardctl convert pool shards --list labels.csv --path-column file --label-column class",
                     "images that a file lists, in no class folders"},
                    {"shardctl convert flat shards --unlabeled", "images in no class folders, without labels"},
                    {"shardctl convert images shards --field 'mask.png=../masks/{dir}/{stem}.png'",
                     "a mask from a parallel tree with each image; docs/fields.md has more"},
                    {"shardctl convert photos shards --metadata captions.jsonl", "each sample gets a .json of its row"},
                    {"shardctl convert imagenet/train shards/train --resize 256 --quality 90",
                     "images of 256 pixels on the shorter side: a quarter of the bytes, cheaper to decode"},
                    {"shardctl convert imagenet/train shards/train --index dali,energon",
                     "with the indexes that other readers want"}},
       .resumable = true,
       .prometheus = true},
      dataset::try_convert, answer_convert);
}

}  // namespace shardkit::apps
