#include "dataset/plan/plan.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_plan(const dataset::PlanOptions& options, const dataset::PlanResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} -> {}, {}, planned", format_count(result.samples, "sample"),
                                format_count(result.shards, "shard"), format_size(result.bytes));
  answer.subject = result.output;
  answer.facts = {
      {"classes",
       fmt::format("{}, {:.1f} in a shard on average", format_count(result.classes), result.classes_per_shard.mean)},
      {"largest shard", format_size(result.largest_shard_bytes)},
      {"shuffle buffer", fmt::format("{}, {}", format_count(result.shuffle_buffer.samples, "sample"),
                                     format_size(result.shuffle_buffer.bytes))},
      {"left out", cli::count_text(result.skipped, "file")},
      {"ignored", cli::count_text(result.ignored_files, "file")},
  };
  answer.next = {
      fmt::format("shardctl convert {} SHARDS --plan {}", shell_word(options.source), shell_word(result.output))};
  return answer;
}

}  // namespace

cli::Command plan_command() {
  return cli::make_command<dataset::PlanOptions, dataset::PlanResult>(
      {.name = "plan",
       .summary = "scan a tree once and assign each sample to a shard",
       .description = "Reads names, sizes and times of all images, and writes the plan that converts on one or many "
                      "machines follow. Prints how many shards there will be and what a loader needs to shuffle them.",
       .examples = {{"shardctl plan imagenet/train -o train.plan",
                     "shuffled, at most 5000 samples or 256 MiB per shard"},
                    {"shardctl plan imagenet/train -o train.plan --multiple-of 512",
                     "as many shards for each of 64 ranks with 8 loader workers"}},
       .main = {"output", "list", "size", "samples", "shards", "multiple-of", "on-bad", "threads"}},
      dataset::plan, answer_plan);
}

}  // namespace shardkit::apps
