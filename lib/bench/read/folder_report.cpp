#include "bench/read/folder_report.hpp"

namespace shardkit::bench {

void FolderOperation::describe(FieldList& v) {
  v.field({"name", "call: list (a folder), open, stat, read (a whole file) or close"}, name);
  v.field({"count", Unit::count, "number of calls"}, count);
  v.field({"per_second", Unit::per_second, "rate of calls by threads that do nothing else"}, per_second);
  v.field({"p50", Unit::seconds, "half of the calls took at most this long"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 calls took at most this long"}, p99);
  v.field({"time_ratio", Unit::ratio, "share of the time of an epoch; 0 for list, because loaders list once"},
          time_ratio);
}

void FolderReport::describe(FieldList& v) {
  v.field({"folders", Unit::count, "folders listed"}, folders);
  v.field({"files", Unit::count, "files found, without hidden ones"}, files);
  v.field({"list_seconds", Unit::seconds, "time to list them, one folder after another like torchvision"},
          list_seconds);
  v.field({"files_per_second", Unit::per_second, "rate of files opened, read and closed by all threads"},
          files_per_second);
  v.field({"metadata_operations_per_second", Unit::per_second,
           "rate of opens, stats and closes by threads that do not read"},
          metadata_operations_per_second);
  v.field({"epoch", Unit::seconds, "time to read each file once at that rate"}, epoch_seconds);
  v.field({"epoch_hours", "the same time in hours"}, epoch_hours);
  v.field({"metadata_cache", "state of names and attributes: cold, warm, or as_found (not prepared)"}, metadata_cache);
  v.field({"operations", "one row per kind of call"}, operations);
}

}  // namespace shardkit::bench
