#include "dataset/stage/stage.hpp"

namespace shardkit::dataset {

void StageOptions::describe(FieldVisitor& v) {
  v.field({"SRC",
           "what to stage, one or more of: a folder, s3://bucket/prefix, http(s)://host/folder, a file or its URL, a "
           "brace pattern, a list of files (*.txt), a wids index (*.json), a manifest.json",
           Role::positional},
          sources);
  v.field({"DST", "target folder on a local disk", Role::positional, kOutputFolder}, target);
  v.field({"manifest",
           "compare the bytes with this manifest instead of the source's own; none: take all files of SRC and pin them "
           "only by size and version",
           Role::input_file, "FILE|none"},
          manifest);
  v.field({"rank", "copy only the shards that these ranks of the job read: all ranks of this node", "R|R-S"}, rank);
  v.field({"world", Unit::count, "ranks of the whole job, for --rank", at_least(1)}, world);
  v.field(
      {"split",
       "loader that divides shards among ranks, for --rank: webdataset (default), dali or hf (Hugging Face datasets)"},
      split);
  share.describe(v);
  v.field({"concurrency", Unit::count,
           "maximum number of requests in flight; default: as many as move the most bytes, up to 128 (32 from folders)",
           between(1, 1024)},
          concurrency);
  v.field(
      {"memory", Unit::bytes,
       "memory for the buffers of connections, 2 MiB each; default: a quarter of the available memory, at most 256 MiB",
       at_least(kConnectionBytes)},
      memory);
  v.field({"bwlimit", Unit::bytes, "limit of bytes per second, all connections together", at_least(1)}, bandwidth);
  v.field({"jitter", Unit::seconds,
           "wait a random time up to this before the start, so that a thousand nodes do not start at once"},
          jitter);
  v.field({"keep-cached",
           "keep written data in the page cache, which counts towards a pod's memory, for programs that read it "
           "immediately"},
          keep_cached);
  v.field(kDryRunOption, dry_run);
  access.describe(v);
}

void StageResult::describe(FieldVisitor& v) {
  v.field({"resumed", "what already existed and was kept, such as 4 of 9 files kept; null if nothing"}, resumed);
  v.field({"files", Unit::count, "files of the set, or of those that the ranks read: shards, indexes and manifest"},
          files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source"}, bytes_fetched);
  v.field(
      {"bytes_reused", Unit::bytes, "bytes that already existed in the target, or that another stage copied meanwhile"},
      bytes_reused);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes fetched divided by the time from start until durable"},
          bytes_per_second);
  v.field({"retries", Unit::count,
           "requests that were repeated, and files fetched twice because their bytes were wrong or changed"},
          retries);
  v.field({"verified", "what the copy was compared with: checksum (of the manifest) or size; empty with --dry-run"},
          verified);
  v.field(
      {"manifest_xxh3_128",
       "XXH3-128 of the manifest, as in the marker; without a manifest, that of the list of names, sizes and versions"},
      manifest_xxh3_128);
  v.field({"lease_id", "id of the lease that protects the copy, for cache renew and release; null without one"},
          lease_id);
  v.field({"lease_expires_at", "expiry of this lease, RFC 3339"}, lease_expires_at);
  v.field(kDryRunResult, dry_run);
}

}  // namespace shardkit::dataset
