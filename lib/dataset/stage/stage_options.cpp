#include "dataset/stage/stage.hpp"

namespace shardkit::dataset {

void StageOptions::describe(FieldVisitor& v) {
  v.field({"SRC",
           "what to bring, one or more of: a folder, s3://bucket/prefix, http(s)://host/folder, a file or its URL, a "
           "brace pattern, a list of files (*.txt), a wids index (*.json), a manifest.json",
           Role::positional},
          sources);
  v.field({"DST", "folder to bring it to, on a local disk", Role::positional, kOutputFolder}, target);
  v.field({"manifest",
           "hold the bytes against this manifest instead of the source's own; none takes all files of SRC and pins "
           "them by size and version only",
           Role::input_file, "FILE|none"},
          manifest);
  v.field({"rank", "bring only the shards that these ranks of the job read: all ranks of this node", "R|R-S"}, rank);
  v.field({"world", Unit::count, "ranks of the whole job, for --rank", at_least(1)}, world);
  v.field({"split",
           "the loader that divides shards among ranks, for --rank: webdataset (the default), dali or hf (Hugging Face "
           "datasets)"},
          split);
  share.describe(v);
  v.field({"concurrency", Unit::count,
           "requests under way, at most; default: as many as move the most bytes, up to 128 (32 from folders)",
           between(1, 1024)},
          concurrency);
  v.field({"memory", Unit::bytes,
           "for buffers of connections, 2 MiB each; default: a quarter of what may be used, at most 256 MiB",
           at_least(kConnectionBytes)},
          memory);
  v.field({"bwlimit", Unit::bytes, "take no more than this each second, all connections together", at_least(1)},
          bandwidth);
  v.field({"jitter", Unit::seconds,
           "wait a random time up to this before the start, so that a thousand nodes do not ask at once"},
          jitter);
  v.field({"keep-cached",
           "leave what was written in the page cache, which counts against a pod's memory, for programs that read it "
           "at once"},
          keep_cached);
  v.field(kDryRunOption, dry_run);
  access.describe(v);
}

void StageResult::describe(FieldVisitor& v) {
  v.field({"resumed", "what was found in place and kept, such as 4 of 9 files kept; null where nothing was"}, resumed);
  v.field({"files", Unit::count, "files of the set, or of what the ranks read: shards, indexes and manifest"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source"}, bytes_fetched);
  v.field({"bytes_reused", Unit::bytes, "bytes that were in the target, or that another stage brought meanwhile"},
          bytes_reused);
  v.field({"bytes_per_second", Unit::bytes_per_second, "fetched bytes over the time from start to durable"},
          bytes_per_second);
  v.field({"retries", Unit::count,
           "requests that were repeated, and files fetched a second time because their bytes were wrong or changed"},
          retries);
  v.field({"verified", "what the copy was compared with: checksum (of the manifest) or size; nothing with --dry-run"},
          verified);
  v.field({"manifest_xxh3_128",
           "XXH3-128 of the manifest, as the marker names it; without one, of the list of names, sizes and versions"},
          manifest_xxh3_128);
  v.field(kDryRunResult, dry_run);
}

}  // namespace shardkit::dataset
