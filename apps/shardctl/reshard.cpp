#include "dataset/reshard/reshard.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/reports.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_reshard(const dataset::ReshardOptions& options, const dataset::ReshardResult& result) {
  cli::Answer answer = answer_of(result, options, options.target, command_to_run("shardctl reshard", options));
  auto& facts = answer.facts;
  facts.emplace_back("from", fmt::format("{} with {}", format_count(result.inputs, "shard"),
                                         format_count(result.input_samples, "sample")));
  facts.emplace_back("left out", cli::count_text(result.dropped, options.drop_bad ? "bad sample" : "changed sample"));
  facts.emplace_back("renamed", cli::count_text(result.renamed, "sample"));
  facts.emplace_back("regrouped", cli::count_text(result.regrouped, "sample"));
  if (result.lost_samples.value_or(0) > 0 || result.lost_bytes.value_or(0) > 0) {
    facts.emplace_back(
        "lost", fmt::format("{}{} after the damage, {}", result.lost_samples_known.value_or(true) ? "" : "at least ",
                            format_count(result.lost_samples.value_or(0), "sample"),
                            format_size(result.lost_bytes.value_or(0))));
  }
  facts.emplace_back("ignored", cli::count_text(result.ignored_members, "member"));
  return answer;
}

}  // namespace

cli::Command reshard_command() {
  return cli::make_command(
      {.name = "reshard",
       .summary = "merge, split, shuffle, sort, filter or sample shards into new shards",
       .description =
           "Takes samples from any tar shards (USTAR, PAX, GNU, v7, compressed), also of other programs, and writes "
           "plain USTAR shards with sample indexes and a manifest. Contents stay byte for byte. Extensions become "
           "lower case, and keys that some reader does not support are renamed. Options apply in this order: --class, "
           "--key and sizes, then --sample, --split, then the order, then the cut into shards.\n\nIf inputs or options "
           "changed since the last run, the command fails. The output depends only on inputs and options, never on the "
           "number of threads or parts, or on the machine.",
       .examples = {{"shardctl reshard a b merged --shuffle 7 --merge-classes",
                     "two sets into one, matching classes by name"},
                    {"shardctl reshard shards even --shards 64", "equal shards, as many as the loaders need"},
                    {"shardctl reshard shards sets --split train=0.9,val=0.1",
                     "sets/train and sets/val, samples chosen by a hash of their keys"},
                    {"shardctl reshard 'laion-{00..41}.tar.gz' cats --key '*cat*' --drop-bad",
                     "a part of a set from another program, only with images that decode"}},
       .main = {"size", "shards", "shuffle", "class", "key", "sample", "split", "drop-bad", "index", "part", "threads"},
       .resumable = true,
       .prometheus = true},
      dataset::reshard, answer_reshard);
}

}  // namespace shardkit::apps
