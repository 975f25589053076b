#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "core/bytes.hpp"

namespace shardkit {

/// Memory that direct I/O accepts: starts on a page. Grows on demand, never shrinks; what it held is lost then.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  /// At least `bytes` of memory, valid until the next call that asks for more.
  MutableBytes get(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
      size_ = bytes;
    }
    return {memory_.get(), bytes};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace shardkit
