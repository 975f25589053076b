#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
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

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// Buffers that go round: a warm pipeline allocates none. There are as many as samples were in flight at once.
/// Thread-safe.
class SampleBuffers {
 public:
  SampleBuffer take(std::size_t bytes) {
    SampleBuffer buffer;
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        buffer = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    buffer.resize(bytes);
    return buffer;
  }
  void give_back(SampleBuffer buffer) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<SampleBuffer> idle_;
};

}  // namespace shardkit
