#pragma once

#include <optional>

#include "bench/decode/decode_failures.hpp"
#include "bench/decode/jpeg_route.hpp"
#include "bench/pipeline/loader/batch_builder.hpp"
#include "bench/pipeline/loader/loader_settings.hpp"
#include "bench/pipeline/samples/sample_buffers.hpp"
#include "core/prng.hpp"
#include "image/augment.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit {

/// What a worker makes of compressed images, one after the other: first all that needs no place in a batch, then the
/// rest. One thread at a time.
class SampleMaker {
 public:
  /// Crops and flips are drawn by `seed`. Settings and buffers, where images go back to, outlive it.
  SampleMaker(const LoaderSettings& settings, SampleBuffers& buffers, std::uint64_t seed);

  /// Takes an image and decodes a random crop of it, or draws the crop that the GPU is to make. False when that failed,
  /// which is counted.
  bool begin(SampleBuffer image, DecodeFailures& failures);
  /// Augments what begin() left, as far as the settings say, and writes it to its place.
  void finish(const BatchSlot& slot);

  /// Samples that no engine of the GPU took.
  std::uint64_t refused() const { return refused_; }

 private:
  const LoaderSettings& settings_;
  SampleBuffers& buffers_;
  JpegDecoder decoder_;
  Augmenter augmenter_;
  Prng prng_;
  Decoded decoded_;
  SampleBuffer jpeg_;  ///< for the GPU, with `route_` and `box_`
  std::optional<JpegRoute> route_;
  CropBox box_;
  std::uint64_t refused_ = 0;
};

}  // namespace shardkit
