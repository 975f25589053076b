#include "bench/read/folder_report.hpp"

namespace shardkit {

void FolderOperation::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "list (a folder), open, stat, read (a whole file) or close"}, name);
  v.field({"count", Unit::count, "how many were made"}, count);
  v.field({"per_second", Unit::per_second, "how many the threads make that do nothing else"}, per_second);
  v.field({"p50", Unit::seconds, "half took no longer"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
  v.field({"time_ratio", Unit::ratio, "share of the time of an epoch; of list 0, as loaders list once"}, time_ratio);
}

void FolderReport::describe(FieldVisitor& v) {
  v.field({"folders", Unit::count, "folders listed"}, folders);
  v.field({"files", Unit::count, "files found; hidden ones are left out"}, files);
  v.field({"list_seconds", Unit::seconds, "time to list them, one folder after another as torchvision does"},
          list_seconds);
  v.field({"files_per_second", Unit::per_second, "files opened, read and closed, by all threads"}, files_per_second);
  v.field({"metadata_operations_per_second", Unit::per_second,
           "opens, stats and closes that the threads make that read nothing"},
          metadata_operations_per_second);
  v.field({"epoch", Unit::seconds, "time to read each file once at that rate"}, epoch_seconds);
  v.field({"epoch_hours", Unit::none, "the same in hours"}, epoch_hours);
  v.field({"metadata_cache", Unit::none,
           "whether names and attributes were in memory: cold, warm, or as_found: whatever was there"},
          metadata_cache);
  v.field({"operations", Unit::none, "each kind of call apart"}, operations);
}

}  // namespace shardkit
