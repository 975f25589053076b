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
  answer.subject = result.manifest;
  answer.facts = {{"manifest", result.manifest_written ? "written" : "exists, and lists shards of these sizes"}};
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
       .summary = "write manifest and indexes for shards made by other programs",
       .description =
           "Reads each shard once and writes .shardkit/<shard>.index with key, label, offset, size and checksum of "
           "every sample, then manifest.json. After that, verify checks every byte and stage verifies its copies. "
           "Never changes files written by convert.\n\nWith --index, also writes the indexes of "
           "these readers next to the shards, including shards written by convert. If a manifest matches the shards, "
           "they are not read again, except for wids, which needs the MD5 of each shard.",
       .examples = {{"shardctl index laion/shards", "all *.tar files of a folder"},
                    {"shardctl index shards/train --index dali,wids,energon", "also indexes for all other readers"}}},
      dataset::index, answer_index);
}

}  // namespace shardkit::apps
