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

/// Where finished batches go: the seam behind which a GPU's copies stand.
namespace shardkit::bench {

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
  image::CropBox box;              ///< of the image
};

/// How many samples came by which way.
struct JpegPaths {
  std::array<std::uint64_t, kEnumNames<gpu::JpegEngine>.size()> engines{};
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
  std::uint64_t slot = 0;     ///< names it until release()
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

/// Where batches go.
enum class SinkKind {
  automatic,  ///< to GPUs, where one can be used
  host,       ///< nowhere: nothing is copied
  gpu
};
constexpr auto enum_names(SinkKind) { return std::to_array<std::string_view>({"auto", "host", "gpu"}); }

/// Takes batches to where the step computes. make_memory() and hand_over() are called by one thread at a time, what
/// steps call by another, both at once. Calls may throw; that ends the run.
class BatchSink {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  virtual ~BatchSink() = default;

  virtual SinkKind kind() const = 0;

  /// Called before any batch is built, so that the price of allocating (and pinning) is not in a batch's time.
  virtual std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) = 0;

  /// Brings a batch to its GPU and returns once the memory may be written again. At most `batches ahead + 1` slots a
  /// GPU are in use. `clock`, the thread's, is in Activity::transfer before and after.
  virtual HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) = 0;

  /// Steps: returns once the batch in this slot can be used. The moment, where that had to be waited for.
  virtual std::optional<Moment> wait_for(std::uint64_t /*slot*/) { return std::nullopt; }
  /// Steps: has the GPUs of these slots compute for so long, each on its batch, and returns when all are done; false
  /// when the stop came before. Throws std::logic_error where there is none.
  virtual bool compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop);
  /// The step that used the batch in this slot is over. Any thread.
  virtual void release(std::uint64_t slot) = 0;

  /// While no batch is under way.
  virtual CopyTally copies() const { return {}; }
};

/// Without a GPU: batches stay in host memory, and handing one over copies nothing.
std::unique_ptr<BatchSink> host_sink();

/// A slot for one sample in a batch.
struct BatchSlot {
  std::size_t batch = 0;  ///< index of its memory
  MutableBytes sample;
  RawSample* raw = nullptr;  ///< what is told of it beside
};

/// A batch whose samples are all there.
struct FinishedBatch {
  std::size_t batch = 0;
  std::uint64_t samples = 0;
  std::span<RawSample> raw;  ///< valid until give_back()
};

/// Collects samples into batches, in memory that goes round. Workers take slots one after the other and fill them in
/// any order; a batch is passed on when its last slot is filled. For one epoch; thread-safe.
class BatchBuilder {
 public:
  /// `memories` outlive the builder and hold `batch` samples of `sample_bytes` each.
  BatchBuilder(std::span<const std::unique_ptr<BatchMemory>> memories, std::uint64_t batch, std::uint64_t sample_bytes,
               bool drop_last);

  /// The next slot; waits for a batch's memory. Empty when the stop fired.
  std::optional<BatchSlot> take_slot(const std::stop_token& stop);
  /// The slot's sample is written.
  void fill(const BatchSlot& slot, const std::stop_token& stop);
  /// No more samples come: passes on a batch that is not full, or drops it. Every slot is filled by then.
  void close(const std::stop_token& stop);

  /// The next finished batch. Empty at the end or when the stop fired.
  std::optional<FinishedBatch> next(const std::stop_token& stop) { return finished_.pop(stop); }
  /// The batch's memory may be used again.
  void give_back(std::size_t batch);

  /// Samples of the last batch when that was dropped.
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::span<const std::unique_ptr<BatchMemory>> memories_;
  const std::uint64_t batch_;
  const std::uint64_t sample_bytes_;
  const bool drop_last_;
  sync::BoundedQueue<FinishedBatch> finished_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::size_t> free_;
  std::optional<std::size_t> open_;    ///< the batch whose slots are being taken
  std::uint64_t taken_ = 0;            ///< of the open batch
  std::vector<std::uint64_t> filled_;  ///< slots, by batch
  std::vector<std::vector<RawSample>> raw_;
  std::uint64_t dropped_ = 0;
};

}  // namespace shardkit::bench
