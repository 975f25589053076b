#include "bench/read/read.hpp"

namespace shardkit {

void ReadOptions::describe(FieldVisitor& v) {
  v.field({"PATH", Unit::none,
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional},
          paths);
  v.field({"mode", Unit::none, "whole files in blocks, or single samples in random order"}, mode);
  v.field({"threads", Unit::count,
           "reads in flight; default: as many as the process may keep cores busy; of a store the most connections, 64"},
          threads);
  v.field({"block", Unit::bytes, "bytes per read in sequential mode; default: 256KiB, of a store 8MiB"}, block);
  v.field({"engine", Unit::none, "how files are read; there is pread, the default", Role::option, "NAME"}, engine);
  v.field({"direct", Unit::none, "read past the page cache (O_DIRECT)"}, direct);
  v.field({"cache", Unit::none, "state of the page cache to start from; fails when it cannot be had"}, cache);
  v.field({"samples", Unit::count, "stop after this many samples"}, samples);
  v.field({"budget", Unit::seconds, "stop after this time; of a store default 28s"}, budget);
  v.field({"seed", Unit::none, "order of the random samples, or of the requests to a store"}, seed);
  store.describe(v);
}

void DeviceActivity::describe(FieldVisitor& v) {
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes read from the device"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "requests answered"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean time from request to answer"}, mean_wait);
  v.field({"mean_queue", Unit::none, "mean number of requests under way"}, mean_queue);
}

void ReadResult::describe(FieldVisitor& v) {
  v.field({"store", Unit::none,
           "of a store: stream or stage, and what each number of connections gave; the figures "
           "beside it are those of the knee"},
          store);
  v.field({"mode", Unit::none, "how files were read"}, mode);
  v.field({"engine", Unit::none, "what read them"}, engine);
  v.field({"direct", Unit::none, "past the page cache"}, direct);
  v.field({"threads", Unit::count, "reads in flight"}, threads);
  v.field({"block", Unit::bytes, "bytes per read in sequential mode"}, block);
  v.field({"files", Unit::count, "files or shards named"}, files);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field(
      {"samples", Unit::count, "samples read; a file that is no shard is one; none: of a store they are not counted"},
      samples);
  v.field({"operations", Unit::count, "reads"}, operations);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "processor time they took"}, cpu_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time"}, bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second, "95 % interval of the median over slices of 0.1 s"},
          bytes_per_second_interval);
  v.field({"steady", Unit::none, "false when the rate drifted by more than a tenth from start to end"}, steady);
  v.field({"samples_per_second", Unit::per_second, "samples over time"}, samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of those as stored, a shard's headers and padding included"},
          mean_sample);
  v.field({"latency", Unit::seconds, "time of one read: a block, or a sample in random mode"}, latency);
  v.field({"cache", Unit::none, "state of the page cache"}, cache);
  v.field({"storage", Unit::none, "what the first path lies on"}, storage);
  v.field({"device", Unit::none, "the block device meanwhile, as iostat sees it"}, device);
  v.field({"hints", Unit::none, "what a reader of these numbers should know"}, hints);
}

}  // namespace shardkit
