#include "dataset/verify/verify.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/reports.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::CiReport verify_ci(const dataset::VerifyResult& result) {
  return problem_report(result.problems, result.problems_total, result.strict, result.shard_names);
}

cli::Answer answer_verify(const dataset::VerifyOptions&, const dataset::VerifyResult& result) {
  cli::Answer answer;
  answer.headline = result.verdict;
  for (const std::string& text : result.checked) {
    answer.facts.emplace_back(&text == &result.checked.front() ? "checked" : "", text);
  }
  for (const std::string& part : result.staged_parts) answer.facts.emplace_back("staged", part);
  if (const auto& classes = result.classes) {
    answer.facts.emplace_back("classes",
                              fmt::format("{}, {}", format_count(classes->count),
                                          cli::spread_text(classes->fewest_samples, classes->most_samples, "sample")));
  }
  answer.body = findings_text(result.problems, result.problems_total);
  answer.next = result.remedies;
  return answer;
}

}  // namespace

cli::Command verify_command() {
  return cli::make_command(
      {.name = "verify",
       .summary = "check shards: archives, names, samples, labels, checksums and images",
       .description =
           "Takes any tar shards, also of other programs. Reports everything that causes trouble in some reader. "
           "Errors lose or confuse data. Warnings affect only some readers, and fail the command only with --strict. "
           "Without a manifest or indexes, bytes cannot be compared with checksums. The result lists what was "
           "checked.\n\nA problem that repeats within a shard is one line with a count.",
       .examples = {{"shardctl verify shards/train", "every byte if there is a manifest, otherwise structure"},
                    {"shardctl verify 'shards/x-{000000..000146}.tar' --depth structure", "reads only headers"},
                    {"shardctl verify shards/train --depth decode --junit report.xml",
                     "also decodes every image, for a CI job"},
                    {"shardctl verify shards/train --against imagenet/train", "compares with the source tree"}},
       .main = {"depth", "strict", "against", "threads", "junit", "markdown"}},
      dataset::verify, answer_verify, verify_ci);
}

}  // namespace shardkit::apps
