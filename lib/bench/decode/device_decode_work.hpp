#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "bench/decode/batch_decoder.hpp"
#include "bench/decode/decode_measurement.hpp"
#include "bench/decode/device_decode_result.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit {

/// Decodes the images of a store in turn, again and again, on a GPU and beside it. Threads of the CPU look at headers
/// and decode what the GPU does not take; one more thread fills batches and waits for the GPU.
class DeviceDecodeWork {
 public:
  DeviceDecodeWork(const JpegStore& store, BatchDecoder& batches, const DecodeBenchOptions& options, unsigned threads,
                   std::uint64_t batch, Context& context);

  /// Decodes until every image was done once and `min_seconds` are over, and all that was begun is there. Once.
  Timing run();

  /// What each path decoded, by its number.
  std::array<DecodeTally, 4> by_path() const;
  DecodeFailures failures() const;
  std::uint64_t refused() const;
  std::uint64_t returned() const;
  /// The last images that a GPU decoded; their pixels are still there.
  const DecodedBatch& last_batch() const { return last_batch_; }

 private:
  /// What became of an image.
  struct Fate {
    std::atomic<DecodeFailure> failure{DecodeFailure::none};
    std::atomic<bool> refused{false};
    std::atomic<bool> returned{false};
  };

  void sort_images(DecodeTally& tally, const std::stop_token& stop);
  bool sort_one(std::size_t index, JpegDecoder& decoder, DecodeTally& tally, const std::stop_token& stop);
  void feed_device(DecodeTally& tally, const std::stop_token& stop);
  void decode_batch(JpegEngine engine);
  void decode_on_cpu(std::size_t index, JpegDecoder& decoder, DecodeTally& tally);
  std::optional<std::size_t> take_returned();

  const JpegStore& store_;
  BatchDecoder& batches_;
  const DecodeBenchOptions& options_;
  unsigned threads_;
  Context& context_;
  BoundedQueue<RoutedJpeg> routed_;
  JpegBatches pending_;
  DecodedBatch last_batch_;
  std::array<DecodeTally, kJpegEngines.size()> engine_tallies_;
  std::vector<DecodeTally> cpu_tallies_;  ///< by thread
  std::vector<Fate> fates_;               ///< by image
  std::atomic<std::uint64_t> next_{0};
  std::atomic<unsigned> sorting_;  ///< threads that still look at headers
  std::mutex mutex_;
  std::vector<std::size_t> returned_;  ///< images that the GPU gave back and the CPU has yet to decode
};

}  // namespace shardkit
