#include "dataset/convert/convert.hpp"

namespace shardkit::dataset {

void ConvertOptions::describe(FieldVisitor& v) {
  v.field(
      {"SRC",
       "folder with one sub-folder of images per class, or with train/, val/ or test/ folders of that kind, here or "
       "at an s3:// URL; with --list or --plan also at http(s)://",
       Role::positional},
      source);
  v.field(
      {"DST", "folder for the shards: empty, or of the same convert to go on with", Role::positional, kOutputFolder},
      target);
  sharding.describe(v);
  SplitOptions::describe(v);
  v.field({"plan", "do what this plan says, without scanning (see `shardctl plan`)", Role::input_file}, plan);
  v.field({"identity",
           "a file is the planned one by size and time of its last change, or by size alone: for copies with other "
           "times. With one plan, parts may then read different copies"},
          identity);
  v.field({"append",
           "add files that a finished set lacks, in new shards; its old shards are not touched. An empty or unfinished "
           "target is converted as usual"},
          append);
  WriteOptions::describe(v);
}

void AcceptedImages::describe(FieldVisitor& v) {
  v.field({"code", "what is wrong with them, as `shardctl verify` calls it"}, code);
  v.field({"images", Unit::count, "read by this run"}, images);
}

void ConvertResult::describe(FieldVisitor& v) {
  WrittenSets::describe(v);
  v.field({"samples_before", Unit::count, "in the set before --append added these"}, samples_before);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"kept_bad", Unit::count, "images that failed validation, or could not be resized, and were kept"}, kept_bad);
  v.field({"resized", Unit::count, "images made smaller by this run (--resize)"}, resized);
  v.field({"resized_at_lower_quality", Unit::count,
           "of these: at a lower quality than asked for, not to become larger than they were"},
          resized_at_lower_quality);
  v.field({"reads_in_flight", Unit::count, "threads that read at the same time"}, reads_in_flight);
  v.field({"manifest", "the file that describes the shards; empty where there are several sets"}, manifest);
  v.field({"plan_hash", "of the plan that was followed; empty where there are several sets"}, plan_hash);
  v.field({"skipped_files", "at most 1000 of them"}, skipped_files);
  v.field({"bad", Unit::count, "files that keep shards from being finished"}, bad);
  v.field({"bad_files", "at most 1000 of them"}, bad_files);
  v.field({"accepted", "images with faults that readers accept, by kind"}, accepted);
}

}  // namespace shardkit::dataset
