#include "bench/read/sample_counter.hpp"

#include <fmt/format.h>

namespace shardkit {

SampleCounter::SampleCounter(const InputFile& shard, Context& context)
    : shard_(shard), context_(context), feed_(*this, shard.bytes) {}

void SampleCounter::finish() {
  feed_.finish();
  if (grouper_.finish()) count(shard_.bytes);
}

bool SampleCounter::entry(const TarEntry& entry) {
  if (grouper_.add(entry)) count(entry.record_offset);
  return false;
}

void SampleCounter::finding(const TarFinding& finding) {
  if (warned_) return;
  warned_ = true;
  context_.warn("damaged_shard", fmt::format("'{}' at byte {}: {}; shardctl verify tells more", shard_.path,
                                             finding.offset, finding.text));
}

void SampleCounter::count(std::uint64_t end) {
  ++samples_;
  sample_bytes_ = end;
  context_.progress().items.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace shardkit
