#include "dataset/reshard/reshard.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"
#include "shardctl/written_sets.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_reshard(const dataset::ReshardOptions& options, const dataset::ReshardResult& result) {
  dataset::ReshardOptions again = options;
  again.dry_run = false;
  cli::Answer answer = answer_of(result, options, options.target, command_text("shardctl reshard", again));
  auto& facts = answer.facts;
  facts.emplace_back("from", fmt::format("{} with {}", format_count(result.inputs, "shard"),
                                         format_count(result.input_samples, "sample")));
  facts.emplace_back("dropped", count_text(result.dropped, "sample"));
  facts.emplace_back("renamed", count_text(result.renamed, "sample"));
  facts.emplace_back("regrouped", count_text(result.regrouped, "sample"));
  if (result.lost_samples) {
    facts.emplace_back("lost", fmt::format("{}, {}", format_count(*result.lost_samples, "sample"),
                                           format_size(result.lost_bytes.value_or(0))));
  }
  facts.emplace_back("ignored", count_text(result.ignored_members, "member"));
  return answer;
}

}  // namespace

cli::Command reshard_command() {
  return cli::make_command(
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
       .examples = {{"shardctl reshard a b merged --shuffle 7 --merge-classes", "two sets into one, classes by name"},
                    {"shardctl reshard shards even --shards 64", "as many equal shards as loaders want"},
                    {"shardctl reshard shards sets --split train=0.9,val=0.1",
                     "sets/train and sets/val, each with the same mix of labels"},
                    {"shardctl reshard 'laion-{00000..00041}.tar.gz' cats --key '*cat*' --drop-bad --rename jpeg=jpg",
                     "a part of a foreign set, and only images that decode"}},
       .resumable = true,
       .prometheus = true},
      dataset::reshard, answer_reshard);
}

}  // namespace shardkit::apps
