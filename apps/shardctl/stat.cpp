#include "dataset/stat/stat.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_stat(const dataset::StatOptions&, const dataset::StatResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} in {}, {}", format_count(result.samples, "sample"),
                                format_count(result.shards, "shard"), format_size(result.bytes));
  const dataset::Spread& size = result.sample_size;
  const dataset::Spread& shard = result.shard_samples;
  answer.facts = {{"sample size", size.min == size.max ? format_size(size.min) + " each"
                                                       : fmt::format("{} to {}, median {}", format_size(size.min),
                                                                     format_size(size.max), format_size(size.median))},
                  {"shard", cli::spread_text(shard.min, shard.max, "sample") +
                                (shard.min == shard.max ? "" : ", median " + format_count(shard.median))}};
  if (const auto& balance = result.class_balance) {
    answer.facts.emplace_back("classes", fmt::format("{}, {}", format_count(balance->classes),
                                                     cli::spread_text(balance->smallest, balance->largest, "sample")));
  }
  if (const auto& classes = result.classes_per_shard) {
    answer.facts.emplace_back("mixed", fmt::format("{:.1f} classes in a shard on average", classes->mean));
  }
  answer.facts.emplace_back("no label", cli::count_text(result.unlabeled, "sample"));
  answer.facts.emplace_back("shuffle buffer",
                            fmt::format("{}, {}", format_count(result.shuffle_buffer.samples, "sample"),
                                        format_size(result.shuffle_buffer.bytes)));
  answer.body = cli::table_text("classes", result.classes);
  return answer;
}

}  // namespace

cli::Command stat_command() {
  return cli::make_command<dataset::StatOptions, dataset::StatResult>(
      {.name = "stat",
       .summary = "count samples and classes, and report the shuffle buffer they need",
       .description = "Takes any tar shards, also of other programs. Reads their indexes if they exist, otherwise tar "
                      "headers and labels. Reports how sizes are distributed, how balanced the classes are, how many "
                      "classes a shard contains, and how many samples a loader must buffer to mix them.",
       .examples = {{"shardctl stat shards/train", "from indexes if they exist"},
                    {"shardctl stat 'laion/{00000..00099}.tar' --json -", "for scripts"}}},
      dataset::stat, answer_stat);
}

}  // namespace shardkit::apps
