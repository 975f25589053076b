#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/prng.hpp"
#include "image/pixels.hpp"
#include "image/tensor_type.hpp"

/// Augmentation of a decoded crop before it is a sample of a batch.
namespace shardkit::image {

/// Chooses a crop like torchvision's RandomResizedCrop.get_params with its defaults: area 8 % to 100 % of the image,
/// aspect ratio log-uniform in 3/4 to 4/3, uniform position; after ten attempts that do not fit, the largest central
/// crop with an allowed ratio. The box is inside the image and never empty; width and height must be at least 1.
CropBox draw_resized_crop(std::uint32_t width, std::uint32_t height, Prng& prng);

/// Mean and deviation of ImageNet's channels (red, green, blue) in [0, 1], as torchvision's models document them.
inline constexpr std::array<float, 3> kImageNetMean{0.485F, 0.456F, 0.406F};
inline constexpr std::array<float, 3> kImageNetDeviation{0.229F, 0.224F, 0.225F};

/// True for every second sample: torchvision's RandomHorizontalFlip with its default.
inline bool draw_flip(Prng& prng) { return (prng.next() >> 63U) != 0; }

/// to_half() for a whole row, with F16C if the processor has it. `halves` is as long as `values`.
void to_half(std::span<const float> values, std::span<std::uint16_t> halves);

/// Flips and normalizes RGB pixels as one sample of a batch tensor, planes first (NCHW). f32 is (x / 255 - mean) /
/// deviation in single precision, bit for bit torchvision's ToTensor and Normalize; f16 is that rounded to nearest,
/// ties to even; u8 keeps the values, for a GPU to normalize. Keeps a row between calls, so that a reused object
/// allocates nothing. One thread at a time.
class Augmenter {
 public:
  explicit Augmenter(TensorType type) : type_(type) {}

  /// Writes `rgb`, of three channels, to `sample`: width * height * 3 values of the type.
  void augment(const PixelView& rgb, bool flip, MutableBytes sample);

 private:
  /// Sizes the rows for images of this width.
  void prepare(std::size_t width);
  void arrange(const PixelView& rgb, std::uint32_t y, bool flip);
  /// The row's values in the tensor's type, as bytes.
  Bytes convert();

  TensorType type_;
  std::vector<std::uint8_t> levels_;  ///< one row: three planes of it
  std::vector<float> mean_;           ///< of the channel that stands there, and so on
  std::vector<float> deviation_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> halves_;
};

}  // namespace shardkit::image
