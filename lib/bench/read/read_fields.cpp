#include "bench/read/read.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {

void ReadOptions::describe(FieldList& v) {
  v.field({"PATH",
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional, kMayDiffer},
          paths);
  v.topic("How it is read");
  v.field({"mode",
           "sequential: whole files in blocks; random: samples in random order (blocks with --block); imagefolder: "
           "folders of images, with each system call measured separately"},
          mode);
  v.field({"job", "read like the fio job of this name; other options override it", "seq-read|rand-read"}, job);
  v.field(system::threads_field("reading threads; default: CPUs available to the process; for stores: maximum number "
                                "of connections, default 64"),
          threads);
  v.field({"block", Unit::bytes,
           "bytes per read; default: 256KiB for sequential, 8MiB for stores, whole samples for random",
           between(512, 1U << 30U)},
          block);
  v.field({"engine", "how files are read; default: pread"}, engine);
  v.field({"depth", Unit::count,
           "reads in flight per thread; default: 32 with --engine uring; other engines allow only 1", between(1, 4096)},
          depth);
  v.field({"direct", "bypass the page cache (O_DIRECT)"}, direct);
  v.field({"cache", "page cache state to start from; fails if it is not available", kMayDiffer}, cache);
  v.topic("Measurement");
  v.field({"samples", Unit::count, "stop after this many samples", kMayDiffer, at_least(1)}, samples);
  v.field({"budget", Unit::seconds, "stop after this time; default for stores: 28s", kMayDiffer, above(0),
           Misnomers{"duration"}},
          budget);
  v.field(
      {"min-time", Unit::seconds, "read the data repeatedly for this time, restoring the cache state before each pass",
       above(0), Misnomers{"min-seconds seconds"}},
      min_time);
  v.field({"repeat", Unit::count,
           "number of measurements, each from a restored cache state; the result is the median and its interval",
           kMayDiffer, between(1, 1000)},
          repeat);
  v.field({"seed", "seed for the order of random samples, or of requests to a store", kMayDiffer}, seed);
  v.field({"sample-bytes", Unit::bytes, "for local files: read samples of this size", between(1, 1ULL << 40U),
           Misnomers{"sample-size"}},
          sample_bytes);
  v.field({"required-rate", Unit::bytes_per_second,
           "for stores: the rate that the job reads, as `iobench model` computes it, for the verdict stream or stage",
           kMayDiffer, above(0), Misnomers{"preset gpus batch step-time min-au"}},
          required_rate);
  access.describe(v);
}

void DeviceActivity::describe(FieldList& v) {
  v.field({"read_bytes", Unit::bytes, "bytes read from the device"}, read_bytes);
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes divided by time"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "number of requests"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean latency of a request"}, mean_wait);
  v.field({"mean_queue", "mean number of requests in flight"}, mean_queue);
}

void ReadRepetition::describe(FieldList& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by time"}, bytes_per_second);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"read_seconds", Unit::seconds, "elapsed time"}, read_seconds);
  v.field({"passes", Unit::count, "passes, each after restoring the cache state"}, passes);
  v.field({"steady",
           "false if the rate drifted by more than 10 %; null if the run took less than 1 s, too short to find out"},
          steady);
  v.field({"p50", Unit::seconds, "half of the reads took at most this long"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 reads took at most this long"}, p99);
}

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

void StreamingVerdict::describe(FieldList& v) {
  v.field({"text", "the verdict in one line"}, text);
  v.field({"verdict", "stream from the store, or stage to a local disk first"}, verdict);
  v.field({"required_bytes_per_second", Unit::bytes_per_second, "rate that the job reads"}, required_bytes_per_second);
  v.field({"headroom_ratio", Unit::factor, "measured divided by required rate; stream at 1.2 or more"}, headroom_ratio);
  v.field({"staging_seconds", Unit::seconds, "time to copy the whole set here once, at the measured rate"},
          staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of an epoch at the required rate"}, epoch_seconds);
  v.field({"epoch_stall_seconds", Unit::seconds, "time that streaming adds to each epoch"}, epoch_stall_seconds);
  v.field({"break_even_epochs", "number of epochs after which staging has taken less time; absent: never"},
          break_even_epochs);
}

void StoreLevel::describe(FieldList& v) {
  v.field({"connections", Unit::count, "requests in flight"}, connections);
  v.field({"bytes_per_second", Unit::bytes_per_second, "rate of all connections"}, bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate per connection"},
          bytes_per_second_per_connection);
  v.field({"ttfb_p50", Unit::seconds, "half of the first bytes arrived within this time"}, ttfb_p50);
  v.field({"ttfb_p99", Unit::seconds, "99 of 100 first bytes arrived within this time"}, ttfb_p99);
  v.field({"requests", Unit::count, "requests completed"}, requests);
  v.field({"retries", Unit::count, "requests repeated"}, retries);
  v.field({"throttled", Unit::count, "requests repeated because the store was busy (503, 429)"}, throttled);
  v.field({"steady",
           "false if the rate drifted by more than 10 % or no request was completed; null if it took less than 1 s, "
           "too short to find out"},
          steady);
}

void StoreReport::describe(FieldList& v) {
  v.field({"streaming", "stream or stage; absent without a requirement"}, streaming);
  v.field({"location", "bytes read"}, location);
  v.field({"set_bytes", Unit::bytes, "bytes of all objects given"}, set_bytes);
  v.field({"objects_without_ranges", Unit::count, "objects that the server sends only as a whole"},
          objects_without_ranges);
  v.field({"objects_changed", Unit::count, "objects that changed or disappeared during the measurement"},
          objects_changed);
  v.field({"knee_connections", Unit::count, "smallest number of connections that reached 95 % of the best rate"},
          knee_connections);
  v.field({"best_bytes_per_second", Unit::bytes_per_second, "best rate with any number of connections"},
          best_bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate per connection at the knee"},
          bytes_per_second_per_connection);
  v.field({"ttfb", Unit::seconds, "time to the first byte at the knee, with open connections"}, ttfb);
  v.field({"cpu_seconds_per_gb", "CPU seconds of this client per 10^9 bytes"}, cpu_seconds_per_gb);
  v.field({"retries", Unit::count, "requests repeated, in total"}, retries);
  v.field({"throttled", Unit::count, "requests repeated because the store was busy"}, throttled);
  v.field({"levels", "one row per number of connections"}, levels);
}

namespace {

/// What was read from, and remarks.
void describe_surroundings(FieldList& v, ReadResult& result) {
  v.field({"cache", "state of the page cache", kCondition}, result.cache);
  v.field({"storage", "storage of the first path", kCondition}, result.storage);
  v.field({"on_disk", "data that is not on the disk byte for byte"}, result.on_disk);
  v.field({"device", "activity of the block device during the run, as iostat reports it"}, result.device);
  v.field({"imagefolder", "for folders: each kind of call, and the cost of an epoch"}, result.imagefolder);
  v.field({"fio", "fio command for the same reads; absent if fio does not support them"}, result.fio);
  v.field({"hints", "remarks on these numbers"}, result.hints);
  v.field({"neighbors", "what other processes used meanwhile"}, result.neighbors);
}

}  // namespace

void ReadResult::describe(FieldList& v) {
  v.field({"store",
           "for stores: stream or stage, and the results per number of connections; the other values are those at the "
           "knee"},
          store);
  v.field({"mode", "how files were read", kCondition}, mode);
  v.field({"job", "the job given with --job"}, job);
  v.field({"engine", "reader engine", kCondition}, engine);
  v.field({"direct", "whether reads bypassed the page cache", kCondition}, direct);
  v.field({"threads", Unit::count, "reading threads", kCondition}, threads);
  v.field({"depth", Unit::count, "reads in flight per thread; absent for stores", kCondition}, depth);
  v.field({"block", Unit::bytes, "bytes per read of files in sequential mode, of blocks in random mode", kCondition},
          block);
  v.field({"files", Unit::count, "number of files or shards given", data_within(0)}, files);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"samples", Unit::count,
           "samples read; a file that is not a shard counts as one. Absent for stores, random blocks, and shards "
           "without index at a depth above 1"},
          samples);
  v.field({"operations", Unit::count, "reads"}, operations);
  v.field({"kernel_reads", Unit::count, "reads made by the kernel: more than requested if it returned fewer bytes"},
          kernel_reads);
  v.field({"passes", Unit::count, "number of passes over the data"}, passes);
  v.field({"read_seconds", Unit::seconds, "elapsed time"}, read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "CPU time"}, cpu_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by time; with repetitions the median",
           metric(Better::higher)},
          bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second,
           "95 % interval of the median over slices of 0.1 s, or over repetitions (the full range if there are fewer "
           "than 6). Absent if the run took less than 1 s or the rate lies outside"},
          bytes_per_second_interval);
  v.field({"steady",
           "false if the rate drifted by more than 10 %; null if the run took less than 1 s, too short to find out"},
          steady);
  v.field({"samples_per_second", Unit::per_second, "samples divided by time", derived_metric(Better::higher)},
          samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean stored size of a sample, including headers and padding in a shard",
           data_within(0.05)},
          mean_sample);
  v.field({"latency", Unit::seconds, "latency of one read: a block, or a sample in random mode", metric(Better::lower)},
          latency);
  v.field({"latency_histogram", "histogram of latencies, by powers of two"}, latency_histogram);
  v.field({"repetitions", "each repetition, if there was more than one"}, repetitions);
  describe_surroundings(v, *this);
}

}  // namespace shardkit::bench
