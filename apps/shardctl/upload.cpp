#include "dataset/upload/upload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/reports.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_upload(const dataset::UploadOptions& options, const dataset::UploadResult& result) {
  cli::Answer answer;
  answer.subject = options.target;
  if (options.clean) {
    answer.headline = fmt::format("{} given up", format_count(result.aborted.size(), "upload"));
    answer.facts = {{"objects", fmt::format("{}", fmt::join(result.aborted, ", "))},
                    {"kept", cli::count_text(result.uploads_kept, "upload")}};
    return answer;
  }
  answer.headline = fmt::format("{} uploaded, {}", format_count(result.files, "file"), format_size(result.bytes));
  answer.facts = {
      {"sent", result.has_sent_files ? format_size(result.bytes_sent) : "nothing: all files were there already"},
      {"reused", result.bytes_reused > 0 ? format_size(result.bytes_reused) : ""},
      {"verified by", result.verified_by},
      {"retries", result.retries > 0 ? format_count(result.retries) : ""}};
  return answer;
}

}  // namespace

cli::Command upload_command() {
  return cli::make_command(
      {.name = "upload",
       .summary = "copy shards or other files to a bucket and verify them there",
       .description =
           "Copies a set, a folder or files to s3://bucket/prefix. Each object is compared with the checksum that the "
           "store reports, and shards also with their manifest. The manifest is written last: until then, other verbs "
           "call the set unfinished.\n\nThe same command continues after an interruption, also inside large files. "
           "Objects with the right bytes are kept, and objects with other bytes are never replaced.\n\n"
           "Uploads that no process continues cost storage: --clean gives them up.",
       .examples = {{"shardctl upload shards s3://data/train", "a set: shards, indexes, then the manifest"},
                    {"shardctl upload a.tar b.tar s3://data/raw --storage-class STANDARD_IA", "two files"},
                    {"shardctl upload --clean s3://data/train --older-than 1h", "after an upload that was given up"}},
       .main = {"part-size", "concurrency", "clean", "older-than", "endpoint-url", "storage-class"},
       .resumable = true,
       .prometheus = true,
       .soft_fail = true},
      dataset::upload, answer_upload);
}

}  // namespace shardkit::apps
