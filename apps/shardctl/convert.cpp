#include "dataset/convert/convert.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/reports.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_convert(const dataset::ConvertOptions& options, const dataset::ConvertResult& result) {
  const bool is_unchanged = result.samples == 0 && result.samples_before > 0;
  dataset::WrittenSets written = result;
  if (is_unchanged) written.resumed.reset();  // it says the same
  cli::Answer answer = answer_of(written, options, options.target, command_to_run("shardctl convert", options));
  if (is_unchanged) answer.headline = "nothing new";
  auto& facts = answer.facts;
  if (result.dry_run) {
    facts.emplace_back("not checked", options.sharding.resize ? "contents; images become smaller than counted here"
                                                              : "contents: a bad file is found by the convert");
  }
  facts.emplace_back("already in the set", cli::count_text(result.samples_before, "sample"));
  facts.emplace_back("left out", cli::count_text(result.skipped, "file"));
  facts.emplace_back("kept bad", cli::count_text(result.kept_bad, "image"));
  facts.emplace_back("resized", cli::count_text(result.resized, "image"));
  for (const dataset::AcceptedImages& accepted : result.accepted) {
    facts.emplace_back("accepted", fmt::format("{} with {}", format_count(accepted.images, "image"), accepted.code));
  }
  return answer;
}

}  // namespace

cli::Command convert_command() {
  return cli::make_command<dataset::ConvertOptions, dataset::ConvertResult>(
      {.name = "convert",
       .summary = "convert an ImageFolder tree into WebDataset tar shards",
       .description = "Writes shards, a sample index for each, and a manifest with checksums. The output depends only "
                      "on names and contents of the source and on the options, never on the number of threads or "
                      "parts, or on the machine.\n\nIf the target belongs to another plan, the command fails.\n\nBad "
                      "files do not stop a run. It "
                      "writes all shards that contain none, lists the bad files and ends with exit code 4. Correct "
                      "them, or move them out of the source, and run the same command again. Or use --on-bad skip to "
                      "leave them out.",
       .examples = {{"shardctl convert imagenet/train shards/train", "shuffled shards of at most 256 MiB"},
                    {"shardctl convert imagenet/train shards/train --on-bad skip --max-bad 0.1%",
                     "leave out files that are not images, up to 0.1 %"},
                    {"shardctl convert imagenet/train shards/train --plan train.plan --part auto",
                     "one of many parts, numbered by Slurm, Kubernetes or MPI; then merge"},
                    {"shardctl convert imagenet shards",
                     "imagenet/train and imagenet/val to shards/train and shards/val"},
                    {"shardctl convert photos shards --split train=0.9,val=0.1",
                     "two sets from one tree; images keep their set when others are added"},
                    {"shardctl convert clips shards --split train=0.9,val=0.1 --group-by dir",
                     "the same, but all frames of a folder go into one set"},
                    {"shardctl convert photos shards --append",
                     "adds new files of photos to a finished set, in new shards"},
                    {"shardctl convert pool shards --list x.csv --path-column f --label-column y",
                     "images listed in a file, without class folders"},
                    {"shardctl convert flat shards --unlabeled", "images without class folders or labels"},
                    {"shardctl convert images shards --field 'mask.png=../masks/{dir}/{stem}.png'",
                     "adds a mask from a parallel tree to each image"},
                    {"shardctl convert photos shards --metadata captions.jsonl", "adds the row of each image as .json"},
                    {"shardctl convert imagenet/train shards/train --resize 256 --quality 90",
                     "images with 256 pixels on the shorter side: a quarter of the bytes, faster to decode"},
                    {"shardctl convert imagenet/train shards/train --index dali,energon",
                     "also writes indexes for other readers"}},
       .main = {"size", "samples", "shards", "no-shuffle", "on-bad", "resize", "split", "index", "plan", "part",
                "append", "threads"},
       .resumable = true,
       .prometheus = true},
      dataset::try_convert, answer_convert);
}

}  // namespace shardkit::apps
