#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/decode/batch_decoder.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit {

/// Pixels that are nearer to libjpeg-turbo's than this are right. Sound decoders differ by rounding, and by how they
/// make subsampled chroma large again; wrong ones have colours in another order, a shift, another image's pixels.
/// docs/gpu.md has what either comes to on photographs.
inline constexpr double kLeastPsnr = 30;

/// A GPU's pixels held against libjpeg-turbo's.
struct PixelComparison {
  std::uint64_t compared = 0;
  std::uint64_t damaged = 0;
  std::uint64_t plain_chroma = 0;
  double least_allowed_psnr = kLeastPsnr;
  std::optional<double> min_psnr;
  std::optional<double> median_psnr;
  std::uint64_t max_difference_red = 0;
  std::uint64_t max_difference_green = 0;
  std::uint64_t max_difference_blue = 0;

  void describe(FieldVisitor& v);
};

/// Compares what a GPU decoded with what libjpeg-turbo makes of the same images.
class PixelCheck {
 public:
  /// `name_of` names an image for an error.
  PixelCheck(const JpegStore& store, Device& device, unsigned threads,
             std::function<std::string(std::size_t index)> name_of, Context& context);

  /// Throws Error{corrupt} that names an image whose pixels are wrong.
  void compare(const DecodedBatch& batch);

  PixelComparison result() const;

 private:
  class Comparer;
  std::size_t threads_for(const DecodedBatch& batch) const;
  void note(const RoutedJpeg& image, JpegEngine engine, double psnr, const std::array<std::uint8_t, 3>& largest,
            bool plain_chroma);

  const JpegStore& store_;
  Device& device_;
  unsigned threads_;
  std::function<std::string(std::size_t)> name_of_;
  Context& context_;
  std::mutex mutex_;
  std::vector<double> psnr_;
  PixelComparison result_;
};

/// Decodes images that are taken evenly, 512 at most, and compares them. Those that the CPU has to decode are left out.
void compare_sample(const JpegStore& store, BatchDecoder& batches, PixelCheck& check, Context& context);

}  // namespace shardkit
