#include "dataset/stage/stage.hpp"

namespace shardkit {

void StageOptions::describe(FieldVisitor& v) {
  v.field({"SRC", Unit::none,
           "what to bring, one or more of: a folder, s3://bucket/prefix, http(s)://host/folder, a file or its URL, a "
           "brace pattern, a list of files (*.txt), a wids index (*.json), a manifest.json",
           Role::positional},
          sources);
  v.field({"DST", Unit::none, "folder to bring it to, on a local disk", Role::positional}, target);
  v.field({"manifest", Unit::none,
           "hold the bytes against this manifest instead of the source's own; none takes all files of SRC and pins "
           "them by size and version only",
           Role::option, "FILE|none"},
          manifest);
  v.field({"rank", Unit::none, "bring only the shards that these ranks of the job read: all ranks of this node",
           Role::option, "R|R-S"},
          rank);
  v.field({"world", Unit::count, "ranks of the whole job, for --rank"}, world);
  v.field({"split", Unit::none,
           "the loader that divides shards among ranks, for --rank: webdataset (the default), dali or hf (Hugging Face "
           "datasets)",
           Role::option, "LOADER"},
          split);
  share.describe(v);
  v.field({"concurrency", Unit::count,
           "requests under way, at most; default: as many as move the most bytes, up to 128 (32 from folders)"},
          concurrency);
  v.field({"memory", Unit::bytes,
           "for buffers of connections, 2 MiB each; default: a quarter of what may be used, "
           "at most 256 MiB"},
          memory);
  v.field({"bwlimit", Unit::bytes, "take no more than this each second, all connections together"}, bandwidth);
  v.field({"jitter", Unit::seconds,
           "wait a random time up to this before the start, so that a thousand nodes do not "
           "ask at once"},
          jitter);
  v.field({"keep-cached", Unit::none,
           "leave what was written in the page cache, which counts against a pod's memory, for who reads it at once"},
          keep_cached);
  access.describe(v);
}

void StageResult::describe(FieldVisitor& v) {
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
  v.field({"verified", Unit::none, "what the copy was held against: checksum (of the manifest) or size"}, verified);
  v.field({"manifest_xxh3_128", Unit::none,
           "XXH3-128 of the manifest, as the marker names it; without one, of the list of names, sizes and versions"},
          manifest_xxh3_128);
}

}  // namespace shardkit
