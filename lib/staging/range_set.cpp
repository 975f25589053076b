#include "staging/range_set.hpp"

#include <algorithm>
#include <iterator>

namespace shardkit {

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

}  // namespace shardkit
