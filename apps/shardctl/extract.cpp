#include "dataset/extract/extract.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"
#include "shardctl/written_sets.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_extract(const dataset::ExtractOptions& options, const dataset::ExtractResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} -> {}, {}", format_count(result.samples, "sample"),
                                format_count(result.files, "file"), format_size(result.bytes));
  answer.place = options.target;
  answer.facts = {{"kept", count_text(result.files_kept, "file")},
                  {"renamed", count_text(result.files_renamed, "file")}};
  if (result.files_written > 0) {
    answer.facts.emplace_back("rate", fmt::format("{} files/s, {}", format_rounded_count(result.files_per_second),
                                                  format_rate(result.bytes_per_second)));
  }
  return answer;
}

}  // namespace

cli::Command extract_command() {
  return cli::make_command<dataset::ExtractOptions, dataset::ExtractResult>(
      {.name = "extract",
       .summary = "turn shards back into an ImageFolder tree",
       .description =
           "Writes every member of every sample: to its original path where the shard has an index of convert, else "
           "to <class>/<key>.<extension>, the class being the manifest's or the label. Labels become folders; "
           "side-cars ride along.\n\nAll names are checked before anything is written, and no link is followed: "
           "nothing leaves DST. Files that are there with the same content are kept, so the same command after a kill "
           "goes on; other content is a conflict and is never overwritten.\n\nWhere members meet at one path, also "
           "where a "
           "file has the name of a folder or the file system of DST does not tell upper from lower case, the folder or "
           "the first member keeps the name. Members with the same content share it. Each other gets '-' and 8 digits "
           "behind its stem, the same in each run, and a warning counts them.",
       .examples = {{"shardctl extract shards/train photos", "the tree that convert read, byte for byte"},
                    {"shardctl extract 'laion-{00000..00009}.tar' some", "some shards made by others"}},
       .resumable = true},
      dataset::extract, answer_extract);
}

}  // namespace shardkit::apps
