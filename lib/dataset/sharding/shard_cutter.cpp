#include "dataset/sharding/shard_cutter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/tar_header.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct Limits {
  std::uint64_t samples;
  std::uint64_t bytes;
};

Limits limits_of(ShardSizes sizes) {
  set_defaults(sizes);
  return {sizes.samples.value_or(kNoLimit), sizes.size.value_or(kNoLimit)};
}

ShardCut cut_at_limits(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& bytes_of,
                       Limits limits) {
  ShardCut cut;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t sample = bytes_of(i);
    if (formats::kTarEnd + sample > limits.bytes) ++cut.oversized;
    if (cut.samples.empty() || cut.samples.back() >= limits.samples || bytes + sample > limits.bytes) {
      cut.samples.push_back(0);
      bytes = formats::kTarEnd;
    }
    cut.samples.back() += 1;
    bytes += sample;
  }
  return cut;
}

/// The first `count % shards` shards get one sample more than the others.
std::vector<std::uint64_t> balanced(std::uint64_t count, std::uint64_t shards) {
  if (shards > count) {
    throw usage_error("{} shards need at least as many samples, but there are only {}; a shard is never empty", shards,
                      count);
  }
  std::vector<std::uint64_t> samples(shards, count / shards);
  for (std::uint64_t i = 0; i < count % shards; ++i) ++samples[i];
  return samples;
}

bool fits(const std::vector<std::uint64_t>& samples, const std::function<std::uint64_t(std::uint64_t)>& bytes_of,
          Limits limits) {
  std::uint64_t next = 0;
  for (const std::uint64_t in_shard : samples) {
    std::uint64_t bytes = formats::kTarEnd;
    for (std::uint64_t i = 0; i < in_shard; ++i) bytes += bytes_of(next++);
    if (in_shard > limits.samples || (in_shard > 1 && bytes > limits.bytes)) return false;
  }
  return true;
}

/// Halves the shard with the most samples until there are `shards` of them: what fits into limits still does.
void split_largest(std::vector<std::uint64_t>& samples, std::uint64_t shards) {
  while (samples.size() < shards) {
    const auto largest = std::ranges::max_element(samples);
    const std::uint64_t half = *largest / 2;
    *largest -= half;
    samples.insert(largest + 1, half);
  }
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

ShardCut cut_shards(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& bytes_of,
                    const ShardSizes& options) {
  const std::uint64_t multiple = options.multiple_of.value_or(1);
  if (options.shards) return {balanced(count, *options.shards), 0};
  const Limits limits = limits_of(options);
  ShardCut cut = cut_at_limits(count, bytes_of, limits);
  if (multiple == 1) return cut;
  const std::uint64_t shards = round_up(cut.samples.size(), multiple);
  std::vector<std::uint64_t> even = balanced(count, shards);
  if (fits(even, bytes_of, limits)) {
    cut.samples = std::move(even);
  } else {
    split_largest(cut.samples, shards);
  }
  return cut;
}

void warn_of_oversized(std::uint64_t samples, Context& context) {
  if (samples == 0) return;
  context.warn("sample_over_shard_size", "{} larger than --size: each gets a shard of its own",
               format_count(samples, "sample"));
}

void ClassesPerShard::describe(FieldList& v) {
  v.field({"min", Unit::count, "smallest number in a shard"}, min);
  v.field({"mean", "mean over all shards"}, mean);
  v.field({"max", Unit::count, "largest number in a shard"}, max);
}

void ShuffleBuffer::describe(FieldList& v) {
  v.field({"shuffle_buffer_samples", Unit::count, "shuffle buffer that a loader worker should use"}, samples);
  v.field({"shuffle_buffer_bytes", Unit::bytes, "memory of that buffer per loader worker"}, bytes);
}

ShuffleBuffer shuffle_buffer_for(const ShardedOrder& order) {
  constexpr std::uint64_t kMixed = 1000;
  constexpr std::uint64_t kClasses = 10;
  if (order.samples == 0) return {};
  const std::uint64_t wanted = order.mixed ? kMixed : kClasses * order.largest_class;
  const std::uint64_t samples = std::min(wanted, order.samples);
  return {samples, order.bytes / order.samples * samples};
}

}  // namespace shardkit::dataset
