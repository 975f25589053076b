#include "dataset/ls/ls.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/bytes.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

/// A row as one line: columns separated by tabs, the name last. Control characters in names are escaped, so that a tab
/// is always between columns and a name cannot steer the terminal.
std::string ls_line(const dataset::LsRow& row, bool details) {
  const std::string shard = cli::printable(row.shard);
  const std::string name = cli::printable(row.name);
  if (!details) return fmt::format("{}\t{}\n", shard, name);
  const std::string label = row.label ? fmt::to_string(*row.label) : "-";
  return fmt::format("{}\t{}\t{}\t{}\t{}\n", shard, row.offset, row.size, label, name);
}

/// ls() with its rows as lines on Context::output().
dataset::LsResult ls_to_output(const dataset::LsOptions& options, Context& context) {
  ByteSink* const output = context.output();
  return dataset::ls(options, context, [&](const dataset::LsRow& row) {
    if (output != nullptr) output->write(as_bytes(ls_line(row, options.long_)));
  });
}

cli::Answer answer_ls(const dataset::LsOptions&, const dataset::LsResult& result) {
  return {.headline =
              fmt::format("{} in {}", format_count(result.members, "member"), format_count(result.shards, "shard"))};
}

}  // namespace

cli::Command ls_command() {
  return cli::make_command<dataset::LsOptions, dataset::LsResult>(
      {.name = "ls",
       .summary = "list the members of shards",
       .description =
           "Prints one line per member: shard and name, separated by a tab. With --long: shard, offset of the content, "
           "size, label (- if there is none) and name. Control characters in names are shown as \\x0a, so that each "
           "member is one line.\n\nLines are printed as members are found, but --json keeps all of them in memory. "
           "Prefer text for millions of members. If the reader closes the pipe, ls ends with exit code 0.",
       .examples = {{"shardctl ls shards/train | head", "the first members"},
                    {"shardctl ls shards/train --long | sort -n -r -k 3 | head", "the largest ones"},
                    {"shardctl ls shards/shard-000003.tar --json -", "objects with shard, key, name, offset and size"}},
       .streams = true},
      ls_to_output, answer_ls);
}

}  // namespace shardkit::apps
