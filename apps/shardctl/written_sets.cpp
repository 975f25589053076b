#include "shardctl/written_sets.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::apps {
namespace {

/// "train: 900 samples in 3 shards; val: 100 samples in 1 shard"
std::string sets_text(const std::vector<dataset::WrittenSet>& sets) {
  std::string text;
  for (const dataset::WrittenSet& set : sets) {
    if (set.name.empty()) continue;
    text += fmt::format("{}{}: {} in {}", text.empty() ? "" : "; ", set.name, format_count(set.samples, "sample"),
                        format_count(set.shards, "shard"));
  }
  return text;
}

}  // namespace

cli::Answer answer_of(const dataset::WrittenSets& written, const dataset::WriteOptions& options,
                      const std::string& target, const std::string& again) {
  cli::Answer answer;
  answer.subject = target;
  if (const auto& dry = written.dry_run) {
    answer.headline =
        fmt::format("dry run: {} to write, {}, checked", format_count(dry->shards, "shard"), format_size(dry->bytes));
    answer.facts = {{"resumed", written.resumed.value_or("")}, {"free", format_size(dry->free_bytes)}};
    answer.next = {again};
    return answer;
  }
  answer.headline = fmt::format("{} -> {}, {}", format_count(written.samples, "sample"),
                                format_count(written.shards, "shard"), format_size(written.bytes));
  answer.facts.emplace_back("sets", sets_text(written.sets));
  answer.facts.emplace_back("resumed", written.resumed.value_or(""));
  if (written.shards_written > 0) {
    answer.facts.emplace_back("rate", fmt::format("{} samples/s, {}", format_rounded_count(written.files_per_second),
                                                  format_rate(written.bytes_per_second)));
  }
  for (const dataset::WrittenSet& set : written.sets) {
    const std::string folder = shell_word(set.name.empty() ? target : target + "/" + set.name);
    answer.next.push_back(options.in_parts() ? fmt::format("shardctl merge {}  (when all parts have finished)", folder)
                                             : "shardctl verify " + folder);
  }
  return answer;
}

}  // namespace shardkit::apps
