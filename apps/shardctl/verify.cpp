#include "dataset/verify/verify.hpp"

#include "cli/command.hpp"
#include "shardctl/problems.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::CiReport verify_ci(const dataset::VerifyResult& result) {
  return problem_report(result.problems, result.problems_total, result.strict, result.shard_names);
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
      dataset::verify, nullptr, verify_ci);
}

}  // namespace shardkit::apps
