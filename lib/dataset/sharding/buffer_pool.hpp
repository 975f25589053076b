#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit {

/// Memory that is used again and again, since fresh pages cost a fault each. Bytes start undefined.
struct Buffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  MutableBytes bytes() const { return {memory.get(), capacity}; }
};

/// Lends buffers and keeps what is lent below a budget. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::uint64_t budget) : budget_(budget) {}

  /// Waits for room; a buffer larger than the whole budget is lent when nothing else is. Empty when the stop comes
  /// first.
  std::optional<Buffer> take(std::size_t size, const std::stop_token& stop);
  void give_back(Buffer buffer);

 private:
  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t lent_ = 0;   ///< bytes
  std::uint64_t spare_ = 0;  ///< bytes in spares_
  std::vector<Buffer> spares_;
};

}  // namespace shardkit
