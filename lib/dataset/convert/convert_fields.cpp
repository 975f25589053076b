#include "dataset/convert/convert.hpp"

namespace shardkit {

void ConvertOptions::describe(FieldVisitor& v) {
  v.field({"SRC", Unit::none,
           "folder with one sub-folder of images per class, or with train/, val/ or test/ folders of that kind",
           Role::positional},
          source);
  v.field({"DST", Unit::none, "folder for the shards: empty, or of the same convert to go on with", Role::positional},
          target);
  sharding.describe(v);
  SplitOptions::describe(v);
  v.field({"plan", Unit::none, "do what this plan says, without scanning (see `shardctl plan`)", Role::option, "FILE"},
          plan);
  WriteOptions::describe(v);
  v.field({"threads", Unit::count,
           "cores to use (default: those this process may use); reads in flight follow the "
           "source's latency, not this"},
          threads);
}

void ConvertResult::describe(FieldVisitor& v) {
  WrittenSets::describe(v);
  v.field({"skipped", Unit::count, "source files left out"}, skipped);
  v.field({"kept_bad", Unit::count, "images that failed validation, or could not be resized, and were kept"}, kept_bad);
  v.field({"resized", Unit::count, "images made smaller by this run (--resize)"}, resized);
  v.field({"resized_at_lower_quality", Unit::count,
           "of these: at a lower quality than asked for, not to become larger than they were"},
          resized_at_lower_quality);
  v.field({"reads_in_flight", Unit::count, "threads that read at the same time"}, reads_in_flight);
  v.field({"manifest", Unit::none, "the file that describes the shards; empty where there are several sets"}, manifest);
  v.field({"plan_hash", Unit::none, "of the plan that was followed; empty where there are several sets"}, plan_hash);
  v.field({"skipped_files", Unit::none, "at most 1000 of them"}, skipped_files);
}

}  // namespace shardkit
