#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "bench/input/jpeg_store.hpp"
#include "bench/pipeline/sample_source.hpp"
#include "bench/pipeline/trace.hpp"
#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/pixels.hpp"
#include "image/tensor_type.hpp"
#include "sync/bounded_queue.hpp"

/// The interface for finished batches, which copies to GPUs implement.
namespace shardkit::bench {

/// How far workers process a sample; the GPU does the rest.
enum class SampleForm {
  tensor,  ///< values of the batch's tensor
  crop,    ///< pixels of its crop, one byte per value: flipping, normalizing and dividing into planes are left
  encoded  ///< if an engine of the GPU supports the image, only its crop is chosen; else like `crop`
};

/// What the GPU needs to know about a sample that it finishes.
struct RawSample {
  bool flip = false;
  SampleBuffer jpeg;               ///< the image to decode
  std::optional<JpegRoute> route;  ///< engine that decodes it; empty: the pixels are in the slot
  image::CropBox box;              ///< of the image
};

/// Number of samples by decoder.
struct JpegPaths {
  std::array<std::uint64_t, kEnumNames<gpu::JpegEngine>.size()> engines{};  ///< by engine: hardware, hybrid, GPU hybrid
  std::uint64_t cpu = 0;                                                    ///< not supported by any engine
  std::uint64_t returned = 0;  ///< decoded by the CPU after an engine failed

  std::uint64_t on_gpu() const { return std::accumulate(engines.begin(), engines.end(), std::uint64_t{0}); }
  std::uint64_t total() const { return on_gpu() + cpu + returned; }
  void add(const JpegPaths& other) {
    for (std::size_t i = 0; i < engines.size(); ++i) engines[i] += other.engines[i];
    cpu += other.cpu;
    returned += other.returned;
  }
};

/// Memory for the samples of one batch, valid as long as the object. A sink chooses its kind, such as pinned.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  virtual MutableBytes bytes() = 0;
};

/// A batch that workers have finished.
struct OutgoingBatch {
  BatchMemory& memory;
  std::uint64_t samples = 0;
  std::size_t bytes = 0;     ///< bytes of the memory with these samples
  std::span<RawSample> raw;  ///< one per sample; none for SampleForm::tensor
  unsigned gpu = 0;
};

/// A batch on its target.
struct HandedBatch {
  std::uint64_t slot = 0;     ///< valid until release()
  std::uint64_t samples = 0;  ///< without those that could not be decoded
  DecodeFailures failures{};
  JpegPaths paths{};  ///< samples decoded by the GPU
};

/// Copies to GPUs so far. Seconds are the sum of the copies of each GPU.
struct CopyTally {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;

  CopyTally since(const CopyTally& earlier) const {
    return {copies - earlier.copies, bytes - earlier.bytes, seconds - earlier.seconds};
  }
};

/// Target of batches.
enum class SinkKind {
  host,  ///< host memory: nothing is copied
  gpu
};
constexpr auto enum_names(SinkKind) { return std::to_array<std::string_view>({"host", "gpu"}); }

/// Copies batches to where the step computes. make_memory() is called before anything else, hand_over() by as many
/// threads as devices(), the calls of steps by another thread, all at the same time. An exception ends the run.
class BatchSink {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  virtual ~BatchSink() = default;

  virtual SinkKind kind() const = 0;
  /// Batches that it can take at the same time: one for each device. GPU number n of the job is on device n %
  /// devices().
  virtual unsigned devices() const { return 1; }

  /// Called before any batch is built, so that allocating and pinning is not measured.
  virtual std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) = 0;

  /// Copies a batch to its GPU and returns when the memory may be written again. At most prefetch + 1 slots per GPU are
  /// in use. `clock` belongs to the thread and is in Activity::transfer before and after.
  virtual HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) = 0;

  /// Called by steps: returns when the batch in this slot can be used. The moment, if it had to wait.
  virtual std::optional<Moment> wait_for(std::uint64_t /*slot*/) { return std::nullopt; }
  /// Called by steps: lets the GPUs of these slots compute for this time, each on its batch, and returns when all are
  /// done; false after a stop. Throws std::logic_error without a GPU.
  virtual bool compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop);
  /// The step with the batch in this slot has ended. Any thread.
  virtual void release(std::uint64_t slot) = 0;

  /// Called while no batch is in flight.
  virtual CopyTally copies() const { return {}; }
};

/// Without a GPU: batches stay in host memory, and nothing is copied.
std::unique_ptr<BatchSink> host_sink();

/// A slot for one sample in a batch.
struct BatchSlot {
  std::size_t batch = 0;  ///< index of its memory
  MutableBytes sample;
  RawSample* raw = nullptr;  ///< information about it
};

/// A complete batch.
struct FinishedBatch {
  std::size_t batch = 0;
  std::uint64_t samples = 0;
  std::span<RawSample> raw;  ///< valid until give_back()
};

/// Collects samples into batches, in memory that is reused. Workers take slots one after the other and fill them in any
/// order. A batch is passed on when its last slot is filled. For one epoch; thread-safe.
class BatchBuilder {
 public:
  /// `memories` outlive the builder, each for `batch` samples of `sample_bytes`.
  BatchBuilder(std::span<const std::unique_ptr<BatchMemory>> memories, std::uint64_t batch, std::uint64_t sample_bytes);

  /// The next slot; waits for the memory of a batch. Empty after a stop.
  std::optional<BatchSlot> take_slot(const std::stop_token& stop);
  /// The slot's sample is complete.
  void fill(const BatchSlot& slot, const std::stop_token& stop);
  /// No more samples follow: passes on an incomplete batch. Every slot is filled by then.
  void close(const std::stop_token& stop);

  /// The next finished batch. Empty at the end or after a stop.
  std::optional<FinishedBatch> next(const std::stop_token& stop) { return finished_.pop(stop); }
  /// The batch's memory may be used again.
  void give_back(std::size_t batch);

 private:
  std::span<const std::unique_ptr<BatchMemory>> memories_;
  const std::uint64_t batch_;
  const std::uint64_t sample_bytes_;
  sync::BoundedQueue<FinishedBatch> finished_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::size_t> free_;
  std::optional<std::size_t> open_;    ///< the batch whose slots are being taken
  std::uint64_t taken_ = 0;            ///< of the open batch
  std::vector<std::uint64_t> filled_;  ///< slots, by batch
  std::vector<std::vector<RawSample>> raw_;
};

}  // namespace shardkit::bench
