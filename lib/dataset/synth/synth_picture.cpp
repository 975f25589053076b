#include "dataset/synth/synth_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace shardkit::dataset {
namespace {

/// Values at the quantiles 0, 0.1, ... 1; the ends are pulled in so that straight lines between them keep the mean.
using Deciles = std::array<double, 11>;

/// One kind of file in ImageNet, as measured (see docs/explain/synth.md).
struct PictureKind {
  double share;
  image::Subsampling subsampling;
  Deciles bytes_per_pixel;
  Deciles quality;
  Deciles long_side;
  Deciles side_ratio;  ///< short over long side
};

constexpr std::array<PictureKind, 3> kPictureKinds{
    PictureKind{0.765,
                image::Subsampling::s444,
                {0.13, 0.33, 0.44, 0.53, 0.60, 0.66, 0.73, 0.80, 0.88, 0.99, 1.32},
                {80, 93, 96, 96, 96, 96, 96, 96, 96, 96, 97},
                {300, 500, 500, 500, 500, 500, 500, 500, 500, 500, 700},
                {0.56, 0.666, 0.666, 0.666, 0.70, 0.75, 0.75, 0.75, 0.75, 0.77, 0.93}},
    PictureKind{0.212,
                image::Subsampling::s420,
                {0.08, 0.11, 0.13, 0.15, 0.20, 0.24, 0.27, 0.30, 0.33, 0.45, 0.70},
                {62, 70, 75, 75, 80, 82, 85, 85, 90, 95, 98},
                {110, 250, 350, 430, 480, 500, 533, 600, 640, 800, 1400},
                {0.55, 0.666, 0.666, 0.70, 0.75, 0.75, 0.75, 0.82, 0.86, 0.96, 1.0}},
    PictureKind{0.023,
                image::Subsampling::gray,
                {0.13, 0.13, 0.15, 0.22, 0.24, 0.34, 0.36, 0.50, 0.55, 0.65, 0.68},
                {73, 75, 80, 84, 96, 96, 96, 96, 96, 96, 96},
                {250, 330, 400, 500, 500, 500, 500, 500, 500, 600, 700},
                {0.5, 0.6, 0.66, 0.666, 0.70, 0.74, 0.75, 0.75, 0.75, 0.9, 1.0}},
};

double at_quantile(const Deciles& deciles, double u) {
  const double position = std::clamp(u, 0.0, 1.0) * 10;
  const std::size_t below = std::min(static_cast<std::size_t>(position), deciles.size() - 2);
  const double fraction = position - static_cast<double>(below);
  return deciles.at(below) * (1 - fraction) + deciles.at(below + 1) * fraction;
}

const PictureKind& draw_kind(Prng& prng) {
  double u = prng.uniform();
  for (const PictureKind& kind : kPictureKinds) {
    if (u < kind.share) return kind;
    u -= kind.share;
  }
  return kPictureKinds.front();
}

constexpr std::uint32_t kBand = 16;      // rows of an MCU, whatever the subsampling
constexpr std::uint32_t kBandStep = 64;  // probes see one band in four

/// A square of `side` white noise values, smoothly read at any position by bilinear interpolation, repeating.
class Lattice {
 public:
  Lattice(std::uint32_t side, Prng& prng) : side_(side), values_(std::size_t{side} * side) {
    for (float& value : values_) value = static_cast<float>(prng.normal());
  }

  float at(float x, float y) const {
    const auto left = static_cast<std::uint32_t>(x);
    const auto top = static_cast<std::uint32_t>(y);
    const float fx = x - static_cast<float>(left);
    const float fy = y - static_cast<float>(top);
    const float upper = value(left, top) * (1 - fx) + value(left + 1, top) * fx;
    const float lower = value(left, top + 1) * (1 - fx) + value(left + 1, top + 1) * fx;
    return upper * (1 - fy) + lower * fy;
  }

 private:
  float value(std::uint32_t x, std::uint32_t y) const { return values_[(y % side_) * side_ + x % side_]; }

  std::uint32_t side_;
  std::vector<float> values_;
};

std::uint8_t to_byte(int level) { return static_cast<std::uint8_t>(std::clamp(level, 0, 255)); }

}  // namespace

SynthProfile draw_synth_profile(Prng& prng) {
  constexpr double kPortraitShare = 0.25;
  const PictureKind& kind = draw_kind(prng);
  const double richness = prng.uniform();
  // Files stored at a high quality tend to be large: within a kind the two correlate by 0.6 to 0.8.
  const double quality_rank = 0.6 * richness + 0.4 * prng.uniform();
  const auto long_side = static_cast<std::uint32_t>(std::lround(at_quantile(kind.long_side, prng.uniform())));
  const auto short_side =
      static_cast<std::uint32_t>(std::lround(long_side * at_quantile(kind.side_ratio, prng.uniform())));
  const bool portrait = prng.uniform() < kPortraitShare;
  return {.width = portrait ? short_side : long_side,
          .height = portrait ? long_side : short_side,
          .subsampling = kind.subsampling,
          .quality = static_cast<int>(std::lround(at_quantile(kind.quality, quality_rank))),
          .bytes_per_pixel = at_quantile(kind.bytes_per_pixel, richness)};
}

NoiseTile::NoiseTile(Prng& prng) : levels_(std::size_t{kSide} * kSide) {
  // A 1/f amplitude spectrum has octaves of equal energy in two dimensions.
  constexpr std::array<std::uint32_t, 6> kPeriods{1, 2, 4, 8, 16, 32};
  constexpr float kDeviation = 32.0F;
  std::vector<float> sum(levels_.size());
  for (const std::uint32_t period : kPeriods) {
    const Lattice lattice(kSide / period, prng);
    const float step = 1.0F / static_cast<float>(period);
    // Bilinear interpolation between lattice points removes 5/9 of the variance. The finest octave is weaker: lenses
    // and scaling have softened it in most of ImageNet, and its bytes cost a decoder most.
    const float gain = period == 1 ? 0.5F : 1.5F;
    for (std::uint32_t y = 0; y < kSide; ++y) {
      for (std::uint32_t x = 0; x < kSide; ++x) {
        sum[y * kSide + x] += gain * lattice.at(static_cast<float>(x) * step, static_cast<float>(y) * step);
      }
    }
  }
  const float scale = kDeviation / std::sqrt(static_cast<float>(kPeriods.size()));
  std::transform(sum.begin(), sum.end(), levels_.begin(), [&](float level) {
    return static_cast<std::int8_t>(std::clamp(std::lround(level * scale), -127L, 127L));
  });
}

/// An ellipse, or all of the picture: one color with a slope of light, and one strength of texture.
struct SynthPainter::Region {
  double x = 0;
  double y = 0;
  double radius_x = 0;
  double radius_y = 0;
  int light = 0;
  int blue = 0;
  int red = 0;
  int slope_x = 0;  ///< levels over 1024 pixels
  int slope_y = 0;
  int texture = 0;  ///< in 1/64
  int color_texture = 0;
  std::uint32_t tile_x = 0;
  std::uint32_t tile_y = 0;

  static Region draw(Prng& prng, std::uint32_t width, std::uint32_t height) {
    Region region;
    region.x = prng.uniform() * width;
    region.y = prng.uniform() * height;
    region.radius_x = width * (0.03 + 0.3 * prng.uniform());
    region.radius_y = height * (0.03 + 0.3 * prng.uniform());
    region.light = static_cast<int>(40 + prng.below(176));
    region.blue = static_cast<int>(18 * prng.normal());
    region.red = static_cast<int>(18 * prng.normal());
    region.slope_x = static_cast<int>(120 * prng.normal());
    region.slope_y = static_cast<int>(120 * prng.normal());
    region.texture = static_cast<int>(64 * std::exp(0.9 * prng.normal()));
    region.color_texture = region.texture * 5 / 16;
    region.tile_x = static_cast<std::uint32_t>(prng.below(NoiseTile::kSide));
    region.tile_y = static_cast<std::uint32_t>(prng.below(NoiseTile::kSide));
    return region;
  }

  /// The columns [first, second) that row `row` of the region covers.
  std::pair<std::uint32_t, std::uint32_t> span(std::uint32_t row, std::uint32_t width) const {
    const double height = (row - y) / radius_y;
    if (height * height >= 1) return {0, 0};
    const double half = radius_x * std::sqrt(1 - height * height);
    const auto column = [&](double at) { return static_cast<std::uint32_t>(std::clamp(at, 0.0, double(width))); };
    return {column(x - half), column(x + half)};
  }
};

void SynthPainter::fill(const Region& region) {
  // Light and the two colors use distant parts of the one tile, where its noise is unrelated.
  constexpr std::uint32_t kBlueShift = 171;
  constexpr std::uint32_t kRedShift = 343;
  for (std::uint32_t y = 0; y < height_; ++y) {
    const auto [begin, end] = region.span(y, width_);
    const std::uint32_t v = y + region.tile_y;
    const int row_light = region.light + (static_cast<int>(y) - static_cast<int>(region.y)) * region.slope_y / 1024;
    for (std::uint32_t x = begin; x < end; ++x) {
      const std::uint32_t u = x + region.tile_x;
      const int light = row_light + (static_cast<int>(x) - static_cast<int>(region.x)) * region.slope_x / 1024;
      sites_[std::size_t{y} * width_ + x] = {
          .light = static_cast<std::int16_t>(light),
          .blue = static_cast<std::int16_t>(region.blue),
          .red = static_cast<std::int16_t>(region.red),
          .light_texture = static_cast<std::int16_t>(tile_.at(u, v) * region.texture / 16),
          .blue_texture =
              static_cast<std::int16_t>(tile_.at(u + kBlueShift, v + kRedShift) * region.color_texture / 16),
          .red_texture =
              static_cast<std::int16_t>(tile_.at(u + kRedShift, v + kBlueShift) * region.color_texture / 16)};
    }
  }
}

void SynthPainter::paint(const SynthProfile& profile, Prng& prng) {
  width_ = profile.width;
  height_ = profile.height;
  sites_.resize(std::size_t{width_} * height_);
  Region background = Region::draw(prng, width_, height_);
  background.radius_x = background.radius_y = 4.0 * (width_ + height_);
  fill(background);
  // Plain pictures have few things in them: borders cost bytes too.
  const auto regions = static_cast<std::uint64_t>(2 + 12 * profile.bytes_per_pixel);
  for (std::uint64_t i = prng.below(regions); i < 2 * regions; ++i) fill(Region::draw(prng, width_, height_));
}

/// The picture with its textures scaled by `strength`; only one band of rows in each `band_step` rows.
image::PixelView SynthPainter::render(const SynthProfile& profile, double strength, std::uint32_t band_step) {
  const bool gray = profile.subsampling == image::Subsampling::gray;
  const unsigned channels = gray ? 1 : 3;
  const auto scale = static_cast<int>(strength * 256);
  pixels_.resize(std::size_t{width_} * height_ * channels);
  std::uint8_t* out = pixels_.data();
  std::uint32_t rows = 0;
  for (std::uint32_t y = 0; y < height_; ++y) {
    if (y % band_step >= kBand) continue;
    ++rows;
    const Site* site = &sites_[std::size_t{y} * width_];
    for (const Site* end = site + width_; site != end; ++site) {
      const int light = site->light + ((site->light_texture * scale) >> 10);
      if (gray) {
        *out++ = to_byte(light);
        continue;
      }
      const int blue = site->blue + ((site->blue_texture * scale) >> 10);
      const int red = site->red + ((site->red_texture * scale) >> 10);
      *out++ = to_byte(light + red);
      *out++ = to_byte(light - (blue + red) / 3);
      *out++ = to_byte(light + blue);
    }
  }
  return {std::span(pixels_).first(std::size_t{rows} * width_ * channels), width_, rows, channels};
}

/// The size that the whole file would have, estimated from a quarter of it.
std::size_t SynthPainter::probe_size(const SynthProfile& profile, double strength) {
  constexpr std::size_t kHeader = 600;
  constexpr double kOptimized = 0.97;  // Huffman tables made for the image save this much; probes do without
  const image::PixelView bands = render(profile, strength, kBandStep);
  const std::size_t size =
      encoder_.encode(bands, {.quality = profile.quality, .subsampling = profile.subsampling}).size();
  const double scan = static_cast<double>(size - std::min(size, kHeader)) * kOptimized;
  return kHeader + static_cast<std::size_t>(scan * height_ / bands.height);
}

/// Sizes grow with the strength by a power that changes slowly: two probes and a line through their logarithms, twice.
double SynthPainter::find_strength(const SynthProfile& profile) {
  constexpr double kMin = 0.01;
  constexpr double kMax = 8.0;
  const double target = std::log(profile.bytes_per_pixel * width_ * height_);
  const auto size_at = [&](double log_strength) {
    return std::log(static_cast<double>(probe_size(profile, std::exp(log_strength))));
  };
  double x0 = std::log(0.1 + 0.3 * profile.bytes_per_pixel);
  double y0 = size_at(x0);
  double x1 = std::clamp(x0 + 1.5 * (target - y0), std::log(kMin), std::log(kMax));
  for (int round = 0; round < 2 && std::abs(x1 - x0) > 0.02; ++round) {
    const double y1 = size_at(x1);
    const double slope = std::max((y1 - y0) / (x1 - x0), 0.1);
    const double next = std::clamp(x1 + (target - y1) / slope, std::log(kMin), std::log(kMax));
    x0 = x1;
    y0 = y1;
    x1 = next;
  }
  return std::exp(x1);
}

Bytes SynthPainter::make_jpeg(const SynthProfile& profile, Prng& prng) {
  paint(profile, prng);
  const image::PixelView picture = render(profile, find_strength(profile), kBand);
  return encoder_.encode(picture, {.quality = profile.quality, .subsampling = profile.subsampling, .optimize = true});
}

}  // namespace shardkit::dataset
