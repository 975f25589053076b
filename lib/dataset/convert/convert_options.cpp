#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/remedies.hpp"
#include "dataset/checks/apart.hpp"
#include "dataset/convert/convert.hpp"

namespace shardkit::dataset {
namespace {

/// A given plan already fixes these options; a contradiction would be ignored silently.
void refuse_options_beside_plan(const ConvertOptions& options) {
  ShardingOptions given = options.sharding;
  given.access = {};                                   // of the source's storage
  if (given.on_bad != OnBad::keep) given.on_bad = {};  // like the next: the treatment of bad files
  given.max_bad = {};
  if (const std::string words = command_text("", given); !words.empty()) {
    throw usage_error("--plan fixes which shards are written; give{} to `shardctl plan` instead", words);
  }
  const std::string split = command_text("", static_cast<const SplitOptions&>(options));
  if (split.empty()) return;
  throw usage_error("--plan has only one set; leave out{}, and divide the finished set with {}, or leave out --plan",
                    split, remedy::in_text(remedy::reshard({options.target}) + split));
}

}  // namespace

void check(const ConvertOptions& options) {
  require_apart(options.target, {options.source}, "source");
  if (options.append && catalog::is_address(options.target)) {
    throw usage_error(
        "--append needs a folder on disk; convert the new files to another prefix, and join both sets with {}",
        remedy::in_text(remedy::reshard({options.target, "NEW"})));
  }
  check_usage(options.append || !options.discard, "--discard needs --append");
  if (!options.plan.empty()) refuse_options_beside_plan(options);
}

void ConvertOptions::describe(FieldList& v) {
  v.field({"SRC",
           "folder with one subfolder of images per class, or with train/ and val/, valid/, validation/, dev/ or "
           "test/ folders of that kind, local or at an s3:// URL; with --list or --plan also at http(s)://",
           Role::positional},
          source);
  v.field({"DST", "folder for the shards, or s3://bucket/prefix: empty, or of the same convert to continue",
           Role::positional, kOutputLocation},
          target);
  sharding.describe(v);
  SplitOptions::describe(v);
  v.topic("Parts and plans");
  v.field({"plan", "follow this plan, without scanning (see `shardctl plan`)", Role::input_file}, plan);
  v.field({"identity",
           "how to recognize a planned file: by size and modification time, or only by size, for copies with other "
           "times. Then parts of one plan may read different copies"},
          identity);
  v.topic("Output");
  v.field({"append",
           "add new files to a finished set, in new shards; its old shards are not changed. An empty or unfinished "
           "target is converted as usual"},
          append);
  v.field({"discard",
           "with --append: if another --append has not finished and no process continues it, first remove what it "
           "wrote. Shards that the manifest lists are never removed"},
          discard);
  WriteOptions::describe(v);
  sharding.access.describe(v);
}

void AcceptedImages::describe(FieldList& v) {
  v.field({"code", "kind of fault, as in `shardctl verify`"}, code);
  v.field({"images", Unit::count, "images read in this run"}, images);
  v.field({"paths", "at most 1000 of them, relative to the source or to their set"}, paths);
}

void ConvertResult::describe(FieldList& v) {
  WrittenSets::describe(v);
  v.field({"samples_before", Unit::count, "samples in the set before --append"}, samples_before);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"kept_bad", Unit::count, "images that failed validation or could not be resized, and were kept"}, kept_bad);
  v.field({"resized", Unit::count, "images made smaller in this run (--resize)"}, resized);
  v.field({"resized_at_lower_quality", Unit::count,
           "images among them encoded at a lower quality than requested, so that they are not larger than before"},
          resized_at_lower_quality);
  v.field({"reads_in_flight", Unit::count, "reading threads"}, reads_in_flight);
  v.field({"manifest", "manifest of the shards; empty if there are several sets"}, manifest);
  v.field({"plan_hash", "hash of the plan; empty if there are several sets"}, plan_hash);
  v.field({"skipped_files", "at most 1000 of the source files left out"}, skipped_files);
  v.field({"bad", Unit::count, "files that keep shards from being finished"}, bad);
  v.field({"bad_files", "at most 1000 of these files"}, bad_files);
  v.field({"accepted", "images with faults that readers accept, by kind"}, accepted);
}

}  // namespace shardkit::dataset
