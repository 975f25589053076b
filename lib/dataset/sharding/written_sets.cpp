#include "dataset/sharding/written_sets.hpp"

#include <algorithm>

namespace shardkit {
namespace {

constexpr std::size_t kMostListed = 1000;

}  // namespace

void list_skipped(std::vector<SkippedFile>& listed, const std::vector<IndexSkip>& skipped, const std::string& folder) {
  for (const IndexSkip& skip : skipped) {
    if (listed.size() == kMostListed) break;
    listed.push_back({folder + skip.path, skip.reason});
  }
}

void WrittenSets::add(const std::string& name, const PlannedReport& report) {
  const Manifest& manifest = report.manifest;
  sets.push_back(
      {name, manifest.samples, manifest.shards.size(), manifest.bytes, report.manifest_path, manifest.plan_hash});
  samples += manifest.samples;
  shards += manifest.shards.size();
  bytes += manifest.bytes;
  shards_written += report.shards_written;
  shards_reused += report.shards_reused;
  phases_seconds.read += report.job.read_seconds;
  phases_seconds.write += report.job.write_seconds;
  phases_seconds.sync += report.job.sync_seconds;
  samples_written_ += report.samples_written;
  bytes_written_ += report.bytes_written;
  seconds_ += report.seconds;
  const double elapsed = std::max(seconds_, 1e-9);
  files_per_second = static_cast<double>(samples_written_) / elapsed;
  bytes_per_second = static_cast<double>(bytes_written_) / elapsed;
}

void SkippedFile::describe(FieldVisitor& v) {
  v.field({"path", Unit::none, "relative to the source"}, path);
  v.field({"reason", Unit::none, "why it is in no shard"}, reason);
}

void WritePhases::describe(FieldVisitor& v) {
  v.field({"scan", Unit::seconds, "listing the source and making the plan, wall time"}, scan);
  v.field({"read", Unit::seconds, "reading the source, summed over threads"}, read);
  v.field({"write", Unit::seconds, "hashing and writing shards, summed over threads"}, write);
  v.field({"sync", Unit::seconds, "making shards durable, beside the other phases"}, sync);
}

void WrittenSet::describe(FieldVisitor& v) {
  v.field({"name", Unit::none, "of the set, such as train; empty where the target is the only one"}, name);
  v.field({"samples", Unit::count, "in its shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"manifest", Unit::none, "the file that describes the shards"}, manifest);
  v.field({"plan_hash", Unit::none, "of the plan that was followed"}, plan_hash);
}

void WrittenSets::describe(FieldVisitor& v) {
  v.field({"samples", Unit::count, "in the shards of this part"}, samples);
  v.field({"shards", Unit::count, "of this part, those found finished included"}, shards);
  v.field({"bytes", Unit::bytes, "of those shards"}, bytes);
  v.field({"files_per_second", Unit::per_second, "samples written, over the time from the end of the plan"},
          files_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "tar bytes written, over the same time"}, bytes_per_second);
  v.field({"phases_seconds", Unit::seconds, "where the time went"}, phases_seconds);
  v.field({"shards_written", Unit::count, "by this run"}, shards_written);
  v.field({"shards_reused", Unit::count, "found finished"}, shards_reused);
  v.field({"sets", Unit::none, "the target, or each of its sets"}, sets);
}

}  // namespace shardkit
