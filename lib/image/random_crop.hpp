#pragma once

#include "core/prng.hpp"
#include "image/pixels.hpp"

namespace shardkit {

/// Draws a crop as torchvision's RandomResizedCrop.get_params does with its defaults: area 8 % to 100 % of the image,
/// aspect ratio log-uniform in 3/4 to 4/3, place uniform; after ten draws that do not fit, the largest central crop
/// whose ratio is allowed. The box lies in the image and is never empty; both sides must be at least 1.
CropBox draw_resized_crop(std::uint32_t width, std::uint32_t height, Prng& prng);

}  // namespace shardkit
