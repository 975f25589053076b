#include "dataset/extract/extract.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_extract(const dataset::ExtractOptions& options, const dataset::ExtractResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{} -> {}, {}", format_count(result.samples, "sample"),
                                format_count(result.files, "file"), format_size(result.bytes));
  answer.subject = options.target;
  answer.facts = {{"kept", cli::count_text(result.files_kept, "file")},
                  {"renamed", cli::count_text(result.files_renamed, "file")}};
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
           "Writes every member of every sample to its original path if convert wrote the shard's index, otherwise to "
           "<class>/<key>.<extension>. The class name comes from the manifest or the label. Labels become folders. "
           "Other members are written next to the image.\n\nAll names are checked before anything is written, and "
           "links are not followed, so nothing is written outside DST. Existing files with the same content are kept. "
           "To continue after an interruption, run the same command again. Existing files with other content are a "
           "conflict and are never overwritten.\n\nTwo members may have the same path, or one may have the name of a "
           "folder, or names may differ only in case where DST ignores case. Then the folder or the first member keeps "
           "the name, and members with the same content share it. Every other member gets '-' and 8 digits after its "
           "stem, the same in each run, and a warning counts them.",
       .examples = {{"shardctl extract shards/train photos", "the tree that convert read, with identical bytes"},
                    {"shardctl extract 'laion-{00000..00009}.tar' some", "shards made by other programs"}},
       .resumable = true},
      dataset::extract, answer_extract);
}

}  // namespace shardkit::apps
