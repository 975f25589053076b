#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "bench/input/input_files.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"

/// The images of a shard that is read from start to end.
namespace shardkit::bench {

/// Memory for one compressed image. It only grows and is not cleared.
class SampleBuffer {
 public:
  /// Ensures space for `bytes`; earlier content is lost.
  void resize(std::size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset(new std::byte[bytes]);
      capacity_ = bytes;
    }
    size_ = bytes;
  }
  MutableBytes bytes() { return {memory_.get(), size_}; }
  std::size_t size() const { return size_; }
  /// Its capacity, which may be more than is used.
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// A larger image is skipped, because a header can contain any size.
inline constexpr std::uint64_t kMostImageBytes = 256U << 20U;

/// Target of images that are read. One per thread.
class SampleOutlet {
 public:
  virtual ~SampleOutlet() = default;
  /// Memory for an image of this size.
  virtual SampleBuffer buffer(std::size_t bytes) = 0;
  /// Passes an image on; waits for space. False if no more are needed.
  virtual bool give(SampleBuffer image) = 0;
  /// An image of more than kMostImageBytes was skipped.
  virtual void pass_over() = 0;
  /// From now on bytes are unpacked, or read again.
  virtual void unpacks(bool /*are_unpacked*/) {}
};

/// Streams a shard of the set in blocks of 256 KiB, unpacks it if it is compressed, and passes on the first image of
/// each sample. A fault of the shard is a warning, once for `warned`, and its readable part is passed on; a compressed
/// one that is damaged or cut off is Error{corrupt}. Ends early on a stop. Returns whether more images are wanted.
/// Throws the errors of reading.
bool stream_images(const InputSet& input, const InputFile& shard, SampleOutlet& outlet, std::atomic<bool>& warned,
                   const std::stop_token& stop, Context& context);

}  // namespace shardkit::bench
