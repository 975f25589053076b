#pragma once

#include <cstdint>

#include "io/aligned_buffer.hpp"
#include "staging/file_copy.hpp"

namespace shardkit {

/// Stores the bytes of one claimed range, gathered into blocks that go past the page cache. One thread; reusable.
class RangeWriter {
 public:
  static constexpr std::size_t kBlock = 1U << 20U;

  /// Begins a range at `offset`; what was not flushed before is dropped. The copy outlives the range.
  void begin(FileCopy& copy, std::uint64_t offset);
  void take(Bytes bytes);
  /// Stores what is gathered: at the end of a range.
  void flush();

  /// The end of what is stored.
  std::uint64_t stored() const { return stored_; }

 private:
  void store(Bytes bytes);

  FileCopy* copy_ = nullptr;
  AlignedBuffer buffer_;
  std::size_t gathered_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace shardkit
