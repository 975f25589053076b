#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/bytes.hpp"

namespace shardkit {

/// Memory for one compressed image. It only grows and is not cleared.
class SampleBuffer {
 public:
  /// Makes room for `bytes`; what was there is lost.
  void resize(std::size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset(new std::byte[bytes]);
      capacity_ = bytes;
    }
    size_ = bytes;
  }
  MutableBytes bytes() { return {memory_.get(), size_}; }
  std::size_t size() const { return size_; }
  /// What it takes, though less of it may be used.
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// Buffers that go round, so that a warm pipeline allocates none. Idle ones take at most 64 MiB, and one of more than
/// 1 MiB is not kept: a few large images would make every buffer as large. Thread-safe.
class SampleBuffers {
 public:
  static constexpr std::uint64_t kMostIdle = 64U << 20U;
  static constexpr std::size_t kLargest = 1U << 20U;

  SampleBuffer take(std::size_t bytes) {
    SampleBuffer buffer;
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        buffer = std::move(idle_.back());
        idle_.pop_back();
        idle_bytes_ -= buffer.capacity();
      }
    }
    buffer.resize(bytes);
    return buffer;
  }

  /// One without memory is not kept: whoever takes it would have to allocate.
  void give_back(SampleBuffer buffer) {
    if (buffer.capacity() == 0 || buffer.capacity() > kLargest) return;
    const std::scoped_lock lock(mutex_);
    if (idle_bytes_ + buffer.capacity() > kMostIdle) return;
    idle_bytes_ += buffer.capacity();
    idle_.push_back(std::move(buffer));
  }

  std::uint64_t idle_bytes() {
    const std::scoped_lock lock(mutex_);
    return idle_bytes_;
  }
  std::size_t idle() {
    const std::scoped_lock lock(mutex_);
    return idle_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<SampleBuffer> idle_;
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace shardkit
