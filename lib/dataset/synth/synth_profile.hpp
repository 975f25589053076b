#pragma once

#include <cstdint>

#include "core/prng.hpp"
#include "image/jpeg_header.hpp"

namespace shardkit {

/// What one synthetic photograph is to be like.
struct SynthProfile {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Subsampling subsampling = Subsampling::s444;
  int quality = 96;            ///< libjpeg's scale
  double bytes_per_pixel = 0;  ///< of the whole file
};

/// Draws a photograph as ImageNet's training set has them: mostly pictures that a photo site has scaled to 500 pixels
/// and stored at quality 96 without subsampling (76 %), then files in the camera's or web page's own subsampling
/// (4:2:0) at many sizes and qualities, and a few in gray. Every property follows quantiles measured on ImageNet.
SynthProfile draw_synth_profile(Prng& prng);

}  // namespace shardkit
