#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/bytes.hpp"

/// Where finished batches go: the seam behind which a GPU's copies stand.
namespace shardkit {

/// Memory of one batch's tensor, for as long as the object lives. A sink may make it as its copies want it (pinned).
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  virtual MutableBytes bytes() = 0;
};

/// Takes batches to where the step computes. make_memory() and hand_over() are called by one thread at a time,
/// release() by another, both at once. Calls may throw; that ends the run.
class BatchSink {
 public:
  virtual ~BatchSink() = default;

  /// What it is, for results: "host".
  virtual std::string_view name() const = 0;

  /// Called before any batch is built, so that the price of allocating (and pinning) is not in a batch's time.
  virtual std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) = 0;

  /// Brings the first `bytes` of `memory` to GPU `gpu` and returns once `memory` may be written again and the batch can
  /// be used. The number names the batch's place there until release(): at most `batches ahead + 1` a GPU are in use.
  virtual std::uint64_t hand_over(BatchMemory& memory, std::size_t bytes, unsigned gpu) = 0;

  /// The step that used the batch at this place is over.
  virtual void release(std::uint64_t place) = 0;
};

/// Without a GPU: batches stay in host memory, and handing one over copies nothing.
std::unique_ptr<BatchSink> host_sink();

}  // namespace shardkit
