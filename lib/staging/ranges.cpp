#include <algorithm>
#include <iterator>

#include "formats/shard_hash.hpp"
#include "staging/stage_copier.hpp"

namespace shardkit::staging {

void RangeSet::add(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ends_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = ends_.erase(at);
  }
  ends_.emplace(range.begin, range.end);
}

void RangeSet::remove(ByteRange range) {
  if (range.empty()) return;
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin()) --at;
  while (at != ends_.end() && at->first < range.end) {
    const ByteRange old{at->first, at->second};
    if (old.end <= range.begin) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    if (old.begin < range.begin) ends_.emplace(old.begin, range.begin);
    if (old.end > range.end) ends_.emplace(range.end, old.end);
  }
}

std::uint64_t RangeSet::total() const {
  std::uint64_t bytes = 0;
  for (const auto& [begin, end] : ends_) bytes += end - begin;
  return bytes;
}

std::uint64_t RangeSet::end_of_run(std::uint64_t from) const {
  const auto after = ends_.upper_bound(from);
  if (after == ends_.begin()) return from;
  return std::max(from, std::prev(after)->second);
}

std::optional<ByteRange> RangeSet::first_gap(std::uint64_t size) const {
  const std::uint64_t begin = end_of_run(0);
  if (begin >= size) return std::nullopt;
  const auto next = ends_.upper_bound(begin);
  return ByteRange{begin, next == ends_.end() ? size : std::min(size, next->first)};
}

std::vector<ByteRange> RangeSet::ranges() const {
  std::vector<ByteRange> all;
  for (const auto& [begin, end] : ends_) all.push_back({begin, end});
  return all;
}

namespace {

constexpr std::uint64_t kMostGrowth = 4;
constexpr double kTolerableShare = 0.05;
constexpr int kEnough = 8;  // one slow response means nothing

}  // namespace

std::uint64_t RangeSize::bytes(std::uint64_t left, unsigned requests) const {
  const std::scoped_lock lock(mutex_);
  return std::clamp(left / std::max(1U, requests), start_, bytes_);
}

void RangeSize::took(double seconds_to_first_byte, double seconds) {
  const std::scoped_lock lock(mutex_);
  slow_starts_ = seconds_to_first_byte > seconds * kTolerableShare ? slow_starts_ + 1 : 0;
  if (slow_starts_ < kEnough) return;
  slow_starts_ = 0;
  bytes_ = std::min(bytes_ * 2, start_ * kMostGrowth);
}

void RangeSize::throttled() {
  const std::scoped_lock lock(mutex_);
  bytes_ = start_;
  slow_starts_ = 0;
}

void RangeWriter::begin(FileCopy& copy, std::uint64_t offset) {
  copy_ = &copy;
  blocks_.begin(offset);
  whole_part_ = false;
  stored_at_ = std::chrono::steady_clock::now();
}

void RangeWriter::take(Bytes bytes) {
  blocks_.write(bytes);
  if (std::chrono::steady_clock::now() - stored_at_ >= copy_->save_every() / 2) blocks_.flush_pages();
}

void RangeWriter::store(std::uint64_t offset, Bytes block) {
  copy_->write(offset, block);
  if (copy_->has_parts()) hash_parts(offset, block);
  stored_at_ = std::chrono::steady_clock::now();
}

void RangeWriter::hash_parts(std::uint64_t offset, Bytes bytes) {
  const std::uint64_t file_bytes = copy_->file().object.size;
  while (!bytes.empty()) {
    const std::uint64_t in_part = offset % formats::kPartBytes;
    if (in_part == 0) {
      part_.reset();
      whole_part_ = true;
    }
    const Bytes some = bytes.first(std::min<std::uint64_t>(bytes.size(), formats::kPartBytes - in_part));
    part_.update(some);
    bytes = bytes.subspan(some.size());
    offset += some.size();
    const bool is_end = offset % formats::kPartBytes == 0 || offset == file_bytes;
    if (is_end && whole_part_) copy_->compare_part((offset - 1) / formats::kPartBytes, part_.digest());
  }
}

}  // namespace shardkit::staging
