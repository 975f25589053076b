#include "bench/read/read.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {

void ReadOptions::describe(FieldVisitor& v) {
  v.field({"PATH",
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional, kMayDiffer},
          paths);
  v.field({"mode",
           "whole files in blocks; samples in random order (blocks with --block); or folders of images, each call "
           "timed apart"},
          mode);
  v.field({"job", "read as the fio job of this name: seq-read or rand-read; other options change it", "NAME"}, job);
  v.field(
      {"threads", Unit::count,
       "threads that read; default: as many as the process may keep cores busy; of a store the most connections, 64",
       between(1, system::kMostThreads)},
      threads);
  v.field({"block", Unit::bytes, "bytes per read; sequential default: 256KiB, of a store 8MiB; random: samples without",
           between(512, 1U << 30U)},
          block);
  v.field({"engine", "how files are read; default: pread"}, engine);
  v.field({"depth", Unit::count, "reads in flight of each thread; default of engine uring 32, of others always 1",
           between(1, 4096)},
          depth);
  v.field({"direct", "read past the page cache (O_DIRECT)"}, direct);
  v.field({"cache", "state of the page cache to start from; fails when it cannot be had", kMayDiffer}, cache);
  v.field({"samples", Unit::count, "stop after this many samples", kMayDiffer, at_least(1)}, samples);
  v.field({"budget", Unit::seconds, "stop after this time; of a store default 28s", kMayDiffer, above(0)}, budget);
  v.field({"min-time", Unit::seconds,
           "read the data again until it was read for so long; not what a first reading left in memory", above(0)},
          min_time);
  v.field({"repeat", Unit::count, "measure so many times, caches prepared anew, and say the median and its interval",
           kMayDiffer, between(1, 1000)},
          repeat);
  v.field({"seed", "order of the random samples, or of the requests to a store", kMayDiffer}, seed);
  store.describe(v);
}

void StoreReadOptions::describe(FieldVisitor& v) {
  v.field({"required-rate", Unit::bytes_per_second, "of a store: what the job reads, for the verdict stream or stage",
           kMayDiffer, above(0)},
          required_rate);
  v.field({"preset", "of a store: the job that reads, such as resnet50-h100", "NAME", kMayDiffer}, preset);
  v.field({"gpus", Unit::count, "GPUs of that job; 1", kMayDiffer, at_least(1)}, gpus);
  v.field({"batch", Unit::count, "its samples per GPU and step", at_least(1)}, batch);
  v.field({"step-time", Unit::seconds, "time its GPUs compute on one batch", above(0), kOfTrainingStep}, step_time);
  v.field({"sample-bytes", Unit::bytes,
           "of a store: mean size of the job's stored samples; of local files: each is a row of samples of this size",
           between(1, 1ULL << 40U)},
          sample_bytes);
  v.field({"min-au", Unit::ratio, "share of the GPUs' time that must be used; the preset's, else 1", kMayDiffer,
           above(0, 1)},
          min_au);
  access.describe(v);
}

void DeviceActivity::describe(FieldVisitor& v) {
  v.field({"read_bytes", Unit::bytes, "bytes read from the device"}, read_bytes);
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "the same over time"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "requests answered"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean time from request to answer"}, mean_wait);
  v.field({"mean_queue", "mean number of requests under way"}, mean_queue);
}

void ReadRepetition::describe(FieldVisitor& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time"}, bytes_per_second);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"passes", Unit::count, "times that caches were made ready and the data read"}, passes);
  v.field(
      {"steady",
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"p50", Unit::seconds, "half of the reads took no longer"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
}

void FolderOperation::describe(FieldVisitor& v) {
  v.field({"name", "list (a folder), open, stat, read (a whole file) or close"}, name);
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
  v.field({"epoch_hours", "the same in hours"}, epoch_hours);
  v.field(
      {"metadata_cache", "whether names and attributes were in memory: cold, warm, or as_found: whatever was there"},
      metadata_cache);
  v.field({"operations", "each kind of call apart"}, operations);
}

void StreamingVerdict::describe(FieldVisitor& v) {
  v.field({"text", "the verdict in one line"}, text);
  v.field({"verdict", "stream from the store, or stage to a local disk first"}, verdict);
  v.field({"required_bytes_per_second", Unit::bytes_per_second, "what the job reads"}, required_bytes_per_second);
  v.field({"headroom_ratio", Unit::factor, "what the store gives over what is required; stream from 1.2 on"},
          headroom_ratio);
  v.field({"staging_seconds", Unit::seconds, "time to bring the whole set here once, at the measured rate"},
          staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of an epoch at the required rate"}, epoch_seconds);
  v.field({"epoch_stall_seconds", Unit::seconds, "time that streaming adds to each epoch"}, epoch_stall_seconds);
  v.field({"break_even_epochs", "epochs after which staging has cost less time; none: never"}, break_even_epochs);
}

void StoreLevel::describe(FieldVisitor& v) {
  v.field({"connections", Unit::count, "requests under way"}, connections);
  v.field({"bytes_per_second", Unit::bytes_per_second, "of all connections"}, bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "of each"}, bytes_per_second_per_connection);
  v.field({"ttfb_p50", Unit::seconds, "half of the first bytes came after no more than this"}, ttfb_p50);
  v.field({"ttfb_p99", Unit::seconds, "99 of 100 first bytes did"}, ttfb_p99);
  v.field({"requests", Unit::count, "requests that were begun and ended"}, requests);
  v.field({"retries", Unit::count, "requests that were repeated"}, retries);
  v.field({"throttled", Unit::count, "those of them that the store asked to send later (503, 429)"}, throttled);
  v.field({"steady",
           "false when the rate drifted by more than a tenth, or no request was begun and ended; null: less than 1 s, "
           "too short to tell"},
          steady);
}

void StoreReport::describe(FieldVisitor& v) {
  v.field({"streaming", "stream or stage; none without a requirement"}, streaming);
  v.field({"location", "what was read"}, location);
  v.field({"set_bytes", Unit::bytes, "bytes of all objects named"}, set_bytes);
  v.field({"objects_without_ranges", Unit::count, "objects met that the server gives whole only"},
          objects_without_ranges);
  v.field({"objects_changed", Unit::count, "objects that changed or went meanwhile"}, objects_changed);
  v.field({"knee_connections", Unit::count, "the fewest connections that gave 95 % of the best rate"},
          knee_connections);
  v.field({"best_bytes_per_second", Unit::bytes_per_second, "the best rate of any number of connections"},
          best_bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate of one connection at the knee"},
          bytes_per_second_per_connection);
  v.field({"ttfb", Unit::seconds, "time to the first byte at the knee, connections being open"}, ttfb);
  v.field({"cpu_seconds_per_gb", "processor seconds of this client for each 10^9 bytes"}, cpu_seconds_per_gb);
  v.field({"retries", Unit::count, "requests that were repeated, in all"}, retries);
  v.field({"throttled", Unit::count, "those of them that the store asked to send later"}, throttled);
  v.field({"levels", "the curve"}, levels);
}

namespace {

void describe_way(ReadResult& result, FieldVisitor& v) {
  v.field({"store",
           "of a store: stream or stage, and what each number of connections gave; the figures beside it are those of "
           "the knee"},
          result.store);
  v.field({"mode", "how files were read", kCondition}, result.mode);
  v.field({"job", "what --job stood for"}, result.job);
  v.field({"engine", "what read them", kCondition}, result.engine);
  v.field({"direct", "past the page cache", kCondition}, result.direct);
  v.field({"threads", Unit::count, "threads that read", kCondition}, result.threads);
  v.field({"depth", Unit::count, "reads in flight of each; none: of a store", kCondition}, result.depth);
  v.field({"block", Unit::bytes, "bytes per read of files in sequential mode, of blocks in random mode", kCondition},
          result.block);
  v.field({"files", Unit::count, "files or shards named", kCondition}, result.files);
}

void describe_amounts(ReadResult& result, FieldVisitor& v) {
  v.field({"bytes", Unit::bytes, "bytes read"}, result.bytes);
  v.field({"samples", Unit::count,
           "samples read; a file that is no shard is one; none: those of a store, of random blocks, and of shards "
           "without index at a depth above 1 are not counted"},
          result.samples);
  v.field({"operations", Unit::count, "reads"}, result.operations);
  v.field(
      {"kernel_reads", Unit::count, "reads that the kernel made of them: more where it gave fewer bytes than asked"},
      result.kernel_reads);
  v.field(
      {"passes", Unit::count, "times that caches were made ready and the data read; within one they may come again"},
      result.passes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, result.read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "processor time they took"}, result.cpu_seconds);
}

void describe_rates(ReadResult& result, FieldVisitor& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time; of repetitions the median",
           metric(Better::higher)},
          result.bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second,
           "95 % interval of the median over slices of 0.1 s, none of less than 1 s or where the rate lies outside; or "
           "over repetitions, of fewer than 6 of them their range"},
          result.bytes_per_second_interval);
  v.field(
      {"steady",
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      result.steady);
  v.field({"samples_per_second", Unit::per_second, "samples over time", derived_metric(Better::higher)},
          result.samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of those as stored, a shard's headers and padding included",
           condition_within(0.05)},
          result.mean_sample);
  v.field({"latency", Unit::seconds, "time of one read: a block, or a sample in random mode", metric(Better::lower)},
          result.latency);
  v.field({"latency_histogram", "how many reads took how long, by powers of two"}, result.latency_histogram);
}

}  // namespace

void ReadResult::describe(FieldVisitor& v) {
  describe_way(*this, v);
  describe_amounts(*this, v);
  describe_rates(*this, v);
  v.field({"repetitions", "each by itself, where there was more than one"}, repetitions);
  v.field({"cache", "state of the page cache", kCondition}, cache);
  v.field({"storage", "what the first path lies on", kCondition}, storage);
  v.field({"on_disk", "what of the data is not on the disk byte for byte"}, on_disk);
  v.field({"device", "the block device meanwhile, as iostat sees it"}, device);
  v.field({"imagefolder", "of folders: each kind of call apart, and what an epoch costs"}, imagefolder);
  v.field({"fio", "the command that has fio read the same in the same way; none where it cannot"}, fio);
  v.field({"hints", "what a reader of these numbers should know"}, hints);
}

}  // namespace shardkit::bench
