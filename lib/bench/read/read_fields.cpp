#include "bench/read/read.hpp"

namespace shardkit {

void ReadOptions::describe(FieldVisitor& v) {
  v.field({"PATH", Unit::none,
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional},
          paths);
  v.field({"mode", Unit::none,
           "whole files in blocks; samples in random order (blocks with --block); or folders of images, each call "
           "timed apart"},
          mode);
  v.field({"job", Unit::none, "read as the fio job of this name: seq-read or rand-read; other options change it",
           Role::option, "NAME"},
          job);
  v.field({"threads", Unit::count,
           "threads that read; default: as many as the process may keep cores busy; of a store the most connections, "
           "64"},
          threads);
  v.field(
      {"block", Unit::bytes, "bytes per read; sequential default: 256KiB, of a store 8MiB; random: samples without"},
      block);
  v.field({"engine", Unit::none, "how files are read: pread (default), mmap or uring", Role::option, "NAME"}, engine);
  v.field({"depth", Unit::count, "reads in flight of each thread; default of engine uring 32, of others always 1"},
          depth);
  v.field({"direct", Unit::none, "read past the page cache (O_DIRECT)"}, direct);
  v.field({"cache", Unit::none, "state of the page cache to start from; fails when it cannot be had"}, cache);
  v.field({"samples", Unit::count, "stop after this many samples"}, samples);
  v.field({"budget", Unit::seconds, "stop after this time; of a store default 28s"}, budget);
  v.field({"min-time", Unit::seconds,
           "read the data again until it was read for so long; not what a first reading left in memory"},
          min_time);
  v.field({"repeat", Unit::count, "measure so many times, caches prepared anew, and say the median and its interval"},
          repeat);
  v.field({"seed", Unit::none, "order of the random samples, or of the requests to a store"}, seed);
  store.describe(v);
}

void ReadResult::describe(FieldVisitor& v) {
  v.field({"store", Unit::none,
           "of a store: stream or stage, and what each number of connections gave; the figures "
           "beside it are those of the knee"},
          store);
  v.field({"mode", Unit::none, "how files were read"}, mode);
  v.field({"job", Unit::none, "what --job stood for"}, job);
  v.field({"engine", Unit::none, "what read them"}, engine);
  v.field({"direct", Unit::none, "past the page cache"}, direct);
  v.field({"threads", Unit::count, "threads that read"}, threads);
  v.field({"depth", Unit::count, "reads in flight of each; none: of a store"}, depth);
  v.field({"block", Unit::bytes, "bytes per read of files in sequential mode, of blocks in random mode"}, block);
  v.field({"files", Unit::count, "files or shards named"}, files);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"samples", Unit::count,
           "samples read; a file that is no shard is one; none: those of a store, of random blocks, and of shards "
           "without index at a depth above 1 are not counted"},
          samples);
  v.field({"operations", Unit::count, "reads"}, operations);
  v.field(
      {"kernel_reads", Unit::count, "reads that the kernel made of them: more where it gave fewer bytes than asked"},
      kernel_reads);
  v.field(
      {"passes", Unit::count, "times that caches were made ready and the data read; within one they may come again"},
      passes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "processor time they took"}, cpu_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time; of repetitions the median"}, bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second,
           "95 % interval of the median over slices of 0.1 s, none of less than 1 s or where the rate lies outside; or "
           "over repetitions, of fewer than 6 of them their range"},
          bytes_per_second_interval);
  v.field(
      {"steady", Unit::none,
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"samples_per_second", Unit::per_second, "samples over time"}, samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of those as stored, a shard's headers and padding included"},
          mean_sample);
  v.field({"latency", Unit::seconds, "time of one read: a block, or a sample in random mode"}, latency);
  v.field({"latency_histogram", Unit::none, "how many reads took how long, by powers of two"}, latency_histogram);
  v.field({"repetitions", Unit::none, "each by itself, where there was more than one"}, repetitions);
  v.field({"cache", Unit::none, "state of the page cache"}, cache);
  v.field({"storage", Unit::none, "what the first path lies on"}, storage);
  v.field({"on_disk", Unit::none, "what of the data is not on the disk byte for byte"}, on_disk);
  v.field({"device", Unit::none, "the block device meanwhile, as iostat sees it"}, device);
  v.field({"imagefolder", Unit::none, "of folders: each kind of call apart, and what an epoch costs"}, imagefolder);
  v.field({"fio", Unit::none, "the command that has fio read the same in the same way; none where it cannot"}, fio);
  v.field({"hints", Unit::none, "what a reader of these numbers should know"}, hints);
}

}  // namespace shardkit
