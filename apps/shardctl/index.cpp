#include "dataset/index/index.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_index(const dataset::IndexOptions& options, const dataset::IndexResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} indexed: {}, {}", format_count(result.shards, "shard"),
                                format_count(result.samples, "sample"), format_size(result.bytes));
  answer.place = result.manifest;
  answer.facts = {{"manifest", result.manifest_written ? "written" : "was there, and fits the shards"}};
  if (result.bytes_per_second > 0) answer.facts.emplace_back("rate", format_rate(result.bytes_per_second));
  if (options.shards.size() == 1 && options.output.empty()) {
    answer.next = {fmt::format("shardctl verify {}", shell_word(options.shards.front()))};
  }
  return answer;
}

}  // namespace

cli::Command index_command() {
  return cli::make_command<dataset::IndexOptions, dataset::IndexResult>(
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
      dataset::index, answer_index);
}

}  // namespace shardkit::apps
