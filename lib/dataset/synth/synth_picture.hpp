#pragma once

#include <cstdint>
#include <vector>

#include "core/prng.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_encoder.hpp"
#include "image/pixels.hpp"

namespace shardkit::dataset {

/// The properties of one synthetic photograph.
struct SynthProfile {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  image::Subsampling subsampling = image::Subsampling::s444;
  int quality = 96;            ///< libjpeg's scale
  double bytes_per_pixel = 0;  ///< of the whole file
};

/// Draws the properties of a photograph of ImageNet's training set: mostly pictures that a photo site has scaled to 500
/// pixels and stored at quality 96 without subsampling (76 %), then files with 4:2:0 subsampling at many sizes and
/// qualities, and a few in gray. Every property follows quantiles measured on ImageNet.
SynthProfile draw_synth_profile(Prng& prng);

/// A square of noise whose amplitude spectrum falls as 1/f, as photographs' does (Field, 1987), that repeats
/// seamlessly. Made once and shared by all threads.
class NoiseTile {
 public:
  static constexpr std::uint32_t kSide = 512;

  explicit NoiseTile(Prng& prng);

  /// Mean 0, deviation about 32; any coordinates.
  int at(std::uint32_t x, std::uint32_t y) const { return levels_[(y % kSide) * kSide + x % kSide]; }

 private:
  std::vector<std::int8_t> levels_;
};

/// Paints pictures and makes JPEGs of them that behave like photographs when they are decoded: flat and shaded regions
/// with sharp borders, each with its own strength of 1/f texture in light and, weaker, in color. The strength of all
/// textures together is set so that the file has the size that its profile asks for. One object per thread.
class SynthPainter {
 public:
  explicit SynthPainter(const NoiseTile& tile) : tile_(tile) {}

  /// The JPEG of a new picture; a function of the profile and the generator's state. Valid until the next call.
  Bytes make_jpeg(const SynthProfile& profile, Prng& prng);

 private:
  /// The values of a pixel before its texture is scaled: color and texture, each for light, blue and red.
  struct Site {
    std::int16_t light, blue, red;
    std::int16_t light_texture, blue_texture, red_texture;
  };
  struct Region;

  void paint(const SynthProfile& profile, Prng& prng);
  void fill(const Region& region);
  double find_strength(const SynthProfile& profile);
  std::size_t probe_size(const SynthProfile& profile, double strength);
  image::PixelView render(const SynthProfile& profile, double strength, std::uint32_t band_step);

  const NoiseTile& tile_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::vector<Site> sites_;
  std::vector<std::uint8_t> pixels_;
  image::JpegEncoder encoder_;
};

}  // namespace shardkit::dataset
