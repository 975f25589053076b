#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace shardkit {

/// The bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const ByteRange&) const = default;
};

/// Some bytes of a file, as ranges that neither meet nor overlap.
class RangeSet {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);
  void clear() { ends_.clear(); }

  /// Bytes in the set.
  std::uint64_t total() const;
  /// The first byte at or after `from` that is not in the set.
  std::uint64_t end_of_run(std::uint64_t from) const;
  /// The first bytes of [0, size) that are not in the set; empty when all are.
  std::optional<ByteRange> first_gap(std::uint64_t size) const;
  /// In ascending order.
  std::vector<ByteRange> ranges() const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< end by begin
};

}  // namespace shardkit
