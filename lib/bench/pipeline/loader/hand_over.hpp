#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>

#include "bench/decode/decode_failures.hpp"
#include "bench/decode/jpeg_route.hpp"
#include "bench/pipeline/samples/sample_buffers.hpp"
#include "bench/pipeline/timing/stage_clock.hpp"
#include "core/bytes.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/pixels.hpp"

/// Where finished batches go: the seam behind which a GPU's copies stand.
namespace shardkit {

/// How far workers bring a sample; the GPU does the rest.
enum class SampleForm {
  tensor,  ///< to the values of the batch's tensor
  crop,    ///< to the levels of its crop, pixel by pixel: flipping, normalising and the layout are left
  encoded  ///< where an engine of the GPU takes the image, its crop is drawn and no more; else as `crop`
};

/// What the GPU is told of a sample that it finishes.
struct RawSample {
  bool flip = false;
  SampleBuffer jpeg;               ///< the image that is to be decoded
  std::optional<JpegRoute> route;  ///< by which engine; empty: the levels are there, in the sample's place
  CropBox box;                     ///< of the image
};

/// How many samples came by which way.
struct JpegPaths {
  std::array<std::uint64_t, EnumNames<JpegEngine>::names.size()> engines{};
  std::uint64_t cpu = 0;       ///< refused by every engine
  std::uint64_t returned = 0;  ///< decoded by the CPU after an engine failed

  std::uint64_t total() const { return std::accumulate(engines.begin(), engines.end(), cpu + returned); }
  void add(const JpegPaths& other) {
    for (std::size_t i = 0; i < engines.size(); ++i) engines[i] += other.engines[i];
    cpu += other.cpu;
    returned += other.returned;
  }
};

/// Memory of one batch's samples, for as long as the object lives. A sink may make it as its copies want it (pinned).
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  virtual MutableBytes bytes() = 0;
};

/// A batch that workers are done with.
struct OutgoingBatch {
  BatchMemory& memory;
  std::uint64_t samples = 0;
  std::size_t bytes = 0;     ///< of the memory, that hold them
  std::span<RawSample> raw;  ///< one for each; none for SampleForm::tensor
  unsigned gpu = 0;
};

/// A batch where it was brought to.
struct HandedBatch {
  std::uint64_t place = 0;    ///< names it until release()
  std::uint64_t samples = 0;  ///< without those that could not be decoded
  DecodeFailures failures{};
  JpegPaths paths{};  ///< of samples that the GPU was to decode
};

/// Copies to GPUs so far. Seconds are those that copies took, one after the other for each GPU.
struct CopyTally {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;

  CopyTally since(const CopyTally& earlier) const {
    return {copies - earlier.copies, bytes - earlier.bytes, seconds - earlier.seconds};
  }
};

/// Takes batches to where the step computes. make_memory() and hand_over() are called by one thread at a time, what
/// steps call by another, both at once. Calls may throw; that ends the run.
class BatchSink {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  virtual ~BatchSink() = default;

  /// What it is, for results: "host", "gpu".
  virtual std::string_view name() const = 0;

  /// Called before any batch is built, so that the price of allocating (and pinning) is not in a batch's time.
  virtual std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) = 0;

  /// Brings a batch to its GPU and returns once the memory may be written again. At most `batches ahead + 1` places a
  /// GPU are in use. `clock`, the thread's, is in Activity::transfer before and after.
  virtual HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) = 0;

  /// Steps: returns once the batch at this place can be used. The moment, where that had to be waited for.
  virtual std::optional<Moment> wait_for(std::uint64_t /*place*/) { return std::nullopt; }
  /// Steps: has the GPUs of these places compute for so long, each on its batch, and returns when all are done; false
  /// when the stop came before. Throws std::logic_error where there is none.
  virtual bool compute(std::span<const std::uint64_t> places, double seconds, const std::stop_token& stop);
  /// The step that used the batch at this place is over. Any thread.
  virtual void release(std::uint64_t place) = 0;

  /// While no batch is under way.
  virtual CopyTally copies() const { return {}; }
};

/// Without a GPU: batches stay in host memory, and handing one over copies nothing.
std::unique_ptr<BatchSink> host_sink();

}  // namespace shardkit
