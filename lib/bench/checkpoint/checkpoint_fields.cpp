#include "bench/checkpoint/checkpoint.hpp"

namespace shardkit {

void CheckpointOptions::describe(FieldVisitor& v) {
  v.field(
      {"DIR", Unit::none, "folder on the storage to measure; what is written there is removed again", Role::positional},
      directory);
  v.field({"mode", Unit::none,
           "sync: training waits until all is durable; background: it waits for a copy in memory alone"},
          mode);
  v.field({"job", Unit::none,
           "seq-write: as fio's sequential write, 4 files of 10 GiB, 1 MiB a write, direct, 60 s at most", Role::option,
           "NAME"},
          job);
  v.field({"model", Unit::none, "size of a checkpoint of MLPerf Storage: llama3-8b, llama3-70b or llama3-405b",
           Role::option, "NAME"},
          model);
  v.field({"scale", Unit::none, "share of the model's checkpoint, or of the job's files, to write, such as 0.01",
           Role::option, "SHARE"},
          scale);
  v.field({"bytes", Unit::bytes, "size of a checkpoint, all writers together; default: 1GiB"}, bytes);
  v.field({"writers", Unit::count, "files written at once, one a rank; default: 1, of a model the 8 ranks of a node"},
          writers);
  v.field({"block", Unit::bytes, "bytes per write"}, block);
  v.field({"direct", Unit::none, "write past the page cache (O_DIRECT)"}, direct);
  v.field({"repeat", Unit::count, "checkpoints of each mode"}, repeat);
  v.field({"budget", Unit::seconds, "ranks write no more after this time, in each checkpoint"}, budget);
  v.field({"drain-to", Unit::none, "also copy a checkpoint to this folder, on slower storage, and time that",
           Role::option, "DIR"},
          drain_to);
  v.field({"read-back", Unit::none, "also read the last checkpoint, from the disk where that can be had, and compare"},
          read_back);
  v.field(
      {"step-time", Unit::seconds, "time of a training step: with --every, what share of training checkpoints take"},
      step_time);
  v.field({"every", Unit::count, "steps from one checkpoint to the next", Role::option, "STEPS"}, every);
}

void CheckpointRow::describe(FieldVisitor& v) {
  v.field({"mode", Unit::none, "sync or background"}, mode);
  v.field({"repetitions", Unit::count, "checkpoints written; all figures are medians of theirs"}, repetitions);
  v.field({"bytes", Unit::bytes, "written in each"}, bytes);
  v.field({"block_seconds", Unit::seconds, "that training waits"}, block_seconds);
  v.field({"block_interval", Unit::seconds, "95 % interval of that median; of fewer than 6 all their range"},
          block_interval);
  v.field({"durable_seconds", Unit::seconds, "until data, names and folder are safe from a power cut"},
          durable_seconds);
  v.field({"durable_interval", Unit::seconds, "95 % interval of that median"}, durable_interval);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over the time to durable"}, bytes_per_second);
  v.field({"snapshot_seconds", Unit::seconds, "copying the state in memory; 0 without a copy"}, snapshot_seconds);
  v.field({"write_seconds", Unit::seconds, "until the last write of the last rank returned"}, write_seconds);
  v.field({"sync_seconds", Unit::seconds, "the longest fsync of a rank's file"}, sync_seconds);
  v.field({"publish_seconds", Unit::seconds, "renames and the fsync of the folder"}, publish_seconds);
  v.field({"fastest_rank_seconds", Unit::seconds, "until the first rank's file was durable"}, fastest_rank_seconds);
  v.field({"slowest_rank_seconds", Unit::seconds, "until the last one's was: the checkpoint takes as long as it"},
          slowest_rank_seconds);
  v.field({"write_latency", Unit::seconds, "time of one write"}, write_latency);
  v.field({"share", Unit::ratio, "share of the running time that training waits for checkpoints"}, share_ratio);
  v.field({"headroom", Unit::ratio, "time between checkpoints over the time to durable; below 1 they pile up"},
          headroom_ratio);
}

void CheckpointDrain::describe(FieldVisitor& v) {
  v.field({"directory", Unit::none, "where to"}, directory);
  v.field({"drain_seconds", Unit::seconds, "until the copy is durable there"}, drain_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
  v.field({"headroom", Unit::ratio, "time between checkpoints over that time; below 1 copies pile up"}, headroom_ratio);
  v.field({"storage", Unit::none, "what that folder lies on"}, storage);
}

void CheckpointRestore::describe(FieldVisitor& v) {
  v.field({"directory", Unit::none, "where from"}, directory);
  v.field({"bytes", Unit::bytes, "compared, all equal to what was written"}, bytes);
  v.field({"read_seconds", Unit::seconds, "time that took"}, read_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
  v.field({"cache_state", Unit::none, "cold, or unknown where the page cache could not be emptied"}, cache_state);
}

void CheckpointResult::describe(FieldVisitor& v) {
  v.field({"model", Unit::none, "whose checkpoint it stands for"}, model);
  v.field({"writers", Unit::count, "files written at once"}, writers);
  v.field({"bytes", Unit::bytes, "of one checkpoint as it was planned"}, bytes);
  v.field({"block", Unit::bytes, "bytes per write"}, block);
  v.field({"direct", Unit::none, "past the page cache"}, direct);
  v.field({"fio", Unit::none, "the fio command that the job stands for"}, fio);
  v.field({"block_seconds", Unit::seconds, "that training waits, of the first row"}, block_seconds);
  v.field({"durable_seconds", Unit::seconds, "until all is durable, of the first row"}, durable_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over the time to durable, of the first row"},
          bytes_per_second);
  v.field({"rows", Unit::none, "each mode"}, rows);
  v.field({"drain", Unit::none, "the copy to slower storage"}, drain);
  v.field({"read_back", Unit::none, "what was read and compared"}, read_back);
  v.field({"storage", Unit::none, "what DIR lies on"}, storage);
}

}  // namespace shardkit
