#include "dataset/parts/parts.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/bytes.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

/// A row as one line of columns separated by tabs. The last one is there only if a process writes the part.
std::string part_line(const dataset::PartRow& row) {
  return fmt::format("{}\t{}\t{}\t{}/{}{}{}\n", row.part, row.task, enum_name(row.state), row.shards_done, row.shards,
                     row.run.empty() ? "" : "\t", cli::printable(row.run));
}

/// parts() with its text on Context::output().
dataset::PartsResult parts_to_output(const dataset::PartsOptions& options, Context& context) {
  dataset::PartsResult result = dataset::parts(options, context);
  ByteSink* const output = context.output();
  if (output == nullptr) return result;
  if (!options.missing) {
    for (const dataset::PartRow& row : result.rows) output->write(as_bytes(part_line(row)));
  } else if (!result.missing_tasks.empty()) {
    output->write(as_bytes(result.missing_tasks + "\n"));
  }
  return result;
}

cli::Answer answer_parts(const dataset::PartsOptions&, const dataset::PartsResult& result) {
  if (result.parts == 0) return {.headline = "nothing left to do: the set is finished"};
  std::string states;
  const auto add = [&](std::uint64_t parts, std::string_view state) {
    if (parts > 0) states += fmt::format(", {} {}", format_count(parts), state);
  };
  add(result.in_progress, "in progress");
  add(result.failed, "failed");
  add(result.missing, "missing");
  return {.headline = fmt::format("{} of {} done{}; {} of {}{}", format_count(result.done),
                                  format_count(result.parts, "part"), states, format_count(result.shards_done),
                                  format_count(result.shards, "shard"), result.merged ? "; merged" : "")};
}

}  // namespace

cli::Command parts_command() {
  return cli::make_command<dataset::PartsOptions, dataset::PartsResult>(
      {.name = "parts",
       .summary = "list which parts of a distributed convert or reshard are done",
       .description =
           "Prints one line per part: its number, the id of its array task, its state, its finished shards of all, and "
           "the process that writes it. Columns are separated by tabs. A part is done, in_progress (a live process "
           "writes it), failed (bad files keep its shards open) or missing (not begun, or interrupted).\n\nWith "
           "--missing, prints only the ids of tasks to run again, as `sbatch --array=` takes them and as Kubernetes "
           "writes the failedIndexes of an Indexed Job.",
       .examples = {{"shardctl parts shards/train", "the state of each part"},
                    {"sbatch --array=\"$(shardctl parts shards/train --missing)\" convert.sbatch",
                     "run the missing parts again"},
                    {"shardctl parts shards/train --json -", "for scripts"}},
       .streams = true},
      parts_to_output, answer_parts);
}

}  // namespace shardkit::apps
