#include "bench/input/sample_counter.hpp"

#include <algorithm>
#include <utility>

#include "bench/input/shard_blocks.hpp"
#include "bench/timing/timed_run.hpp"
#include "catalog/shard_faults.hpp"

namespace shardkit::bench {

SampleCounter::SampleCounter(const InputFile& shard, Context& context)
    : shard_(shard), context_(context), feed_(*this, is_compressed(shard) ? formats::kUnknownBytes : shard.bytes) {}

void SampleCounter::feed(Bytes bytes) {
  bytes_ += bytes.size();
  feed_.feed(bytes);
}

void SampleCounter::finish() {
  feed_.finish();
  if (grouper_.finish()) count(bytes_);
}

bool SampleCounter::entry(const formats::TarEntry& entry) {
  if (grouper_.add(entry)) count(entry.record_offset);
  return false;
}

void SampleCounter::finding(const formats::TarFinding& finding) {
  if (!std::exchange(warned_, true)) catalog::warn_of_damage(shard_.path, finding, context_);
}

void SampleCounter::count(std::uint64_t end) {
  ++samples_;
  sample_bytes_ = end;
  context_.progress().items.fetch_add(1, std::memory_order_relaxed);
}

UnpackedSamples::UnpackedSamples(const InputFile& shard, catalog::UnpackedStream::ReadPacked read, Context& context)
    : counter_(shard, context),
      content_(
          [this, read = std::move(read)] {
            const auto before = thread_cpu_time();
            const Bytes block = read();
            bytes_ += block.size();
            cpu_ -= thread_cpu_time() - before;
            return block;
          },
          shard.path) {}

bool UnpackedSamples::next() {
  const auto before = thread_cpu_time();
  const Bytes piece = content_.next();
  cpu_ += thread_cpu_time() - before;
  if (piece.empty()) {
    counter_.finish();
    return false;
  }
  counter_.feed(piece);
  return true;
}

std::uint64_t UnpackedSamples::sample_bytes() const {
  if (content_.bytes() == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(bytes_) * static_cast<double>(counter_.sample_bytes()) /
                                    static_cast<double>(content_.bytes()));
}

UnpackCosts measure_unpacking(const InputSet& input, double seconds, Context& context) {
  constexpr double kMostForFirst = 5;  // times as long
  const Deadline end = moment_in(seconds);
  const Deadline last = moment_in(kMostForFirst * seconds);
  context.progress().start_for("unpacking", seconds, "samples");
  UnpackCosts costs;
  costs.shards = static_cast<std::uint64_t>(std::ranges::count_if(input.files, is_compressed));
  double cpu_seconds = 0;
  double bytes = 0;
  const auto is_enough = [&](std::uint64_t samples) { return is_over(samples > 0 ? end : last); };
  for (const InputFile& shard : input.files) {
    if (is_enough(costs.samples)) break;
    if (!is_compressed(shard)) continue;
    ShardBlocks blocks(input, shard);
    UnpackedSamples content(
        shard, [&] { return blocks.next(); }, context);
    while (!is_enough(costs.samples + content.samples()) && content.next()) context.throw_if_stopped();
    costs.samples += content.samples();
    costs.sample_bytes += static_cast<double>(content.sample_bytes());
    costs.unpacked_sample_bytes += static_cast<double>(content.unpacked_sample_bytes());
    cpu_seconds += content.cpu_seconds();
    bytes += static_cast<double>(content.bytes());
  }
  if (costs.samples == 0) return costs;
  const auto samples = static_cast<double>(costs.samples);
  costs.cpu_seconds = cpu_seconds * costs.sample_bytes / bytes / samples;
  costs.sample_bytes /= samples;
  costs.unpacked_sample_bytes /= samples;
  return costs;
}

void UnpackCosts::describe(FieldList& v) {
  v.field({"shards", Unit::count, "compressed shards; each is unpacked by one thread"}, shards);
  v.field({"samples", Unit::count, "samples that were unpacked"}, samples);
  v.field({"sample", Unit::bytes, "mean size of a sample, as stored"}, sample_bytes);
  v.field({"unpacked_sample", Unit::bytes, "the same, unpacked"}, unpacked_sample_bytes);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "CPU time of unpacking a sample, without reading"}, cpu_seconds);
}

}  // namespace shardkit::bench
