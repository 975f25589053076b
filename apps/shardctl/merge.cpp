#include "dataset/merge/merge.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_merge(const dataset::MergeOptions& options, const dataset::MergeResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format(
      "{}{}, {}, {}", result.parts == 0 ? "the set is whole: " : format_count(result.parts, "part") + " -> ",
      format_count(result.shards, "shard"), format_count(result.samples, "sample"), format_size(result.bytes));
  answer.subject = result.manifest;
  answer.facts = {{"left out", cli::count_text(result.skipped, "file")}};
  answer.next = {fmt::format("shardctl verify {}", shell_word(options.target))};
  return answer;
}

}  // namespace

cli::Command merge_command() {
  return cli::make_command<dataset::MergeOptions, dataset::MergeResult>(
      {.name = "merge",
       .summary = "join the parts of a distributed convert or reshard into one manifest",
       .description = "Checks that all parts exist and that every shard is complete, then writes the same manifest "
                      "that a convert in one part writes.",
       .examples = {{"shardctl merge shards/train", "after all parts have finished"}},
       .resumable = true},
      dataset::merge, answer_merge);
}

}  // namespace shardkit::apps
