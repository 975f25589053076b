#include "dataset/verify/verify.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/units.hpp"
#include "shardctl/problems.hpp"
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
    answer.facts.emplace_back(
        "classes", fmt::format("{}, with {} to {}", format_count(classes->count), format_count(classes->fewest_samples),
                               format_count(classes->most_samples, "sample")));
  }
  answer.body = findings_text(result.problems, result.problems_total);
  answer.next = result.remedies;
  return answer;
}

}  // namespace

cli::Command verify_command() {
  return cli::make_command(
      {.name = "verify",
       .summary = "check shards: archive, names, samples, labels, checksums, images, and the set as a whole",
       .description =
           "Takes any tar shards, made by us or not. Names every trap that some reader stumbles over. Errors are "
           "what readers lose or confuse data by, warnings what only some reader trips on; a warning alone fails "
           "only with --strict. What cannot be checked without checksums is not claimed: the result says what was "
           "checked.\n\nA repetition within a shard is counted in one line.",
       .examples = {{"shardctl verify shards/train", "every byte where there is a manifest, else structure"},
                    {"shardctl verify 'shards/x-{000000..000146}.tar' --depth structure", "reads headers only"},
                    {"shardctl verify shards/train --depth decode --junit report.xml", "every image too, for a CI job"},
                    {"shardctl verify shards/train --against imagenet/train", "is every file of the source there?"}}},
      dataset::verify, answer_verify, verify_ci);
}

}  // namespace shardkit::apps
