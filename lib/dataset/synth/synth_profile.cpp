#include "dataset/synth/synth_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardkit {
namespace {

/// Values at the quantiles 0, 0.1, ... 1; the ends are pulled in so that straight lines between them keep the mean.
using Deciles = std::array<double, 11>;

/// One kind of file in ImageNet, as measured (docs/synth.md says how).
struct Kind {
  double share;
  Subsampling subsampling;
  Deciles bytes_per_pixel;
  Deciles quality;
  Deciles long_side;
  Deciles side_ratio;  ///< short over long side
};

constexpr std::array<Kind, 3> kKinds{
    Kind{0.765,
         Subsampling::s444,
         {0.13, 0.33, 0.44, 0.53, 0.60, 0.66, 0.73, 0.80, 0.88, 0.99, 1.32},
         {80, 93, 96, 96, 96, 96, 96, 96, 96, 96, 97},
         {300, 500, 500, 500, 500, 500, 500, 500, 500, 500, 700},
         {0.56, 0.666, 0.666, 0.666, 0.70, 0.75, 0.75, 0.75, 0.75, 0.77, 0.93}},
    Kind{0.212,
         Subsampling::s420,
         {0.08, 0.11, 0.13, 0.15, 0.20, 0.24, 0.27, 0.30, 0.33, 0.45, 0.70},
         {62, 70, 75, 75, 80, 82, 85, 85, 90, 95, 98},
         {110, 250, 350, 430, 480, 500, 533, 600, 640, 800, 1400},
         {0.55, 0.666, 0.666, 0.70, 0.75, 0.75, 0.75, 0.82, 0.86, 0.96, 1.0}},
    Kind{0.023,
         Subsampling::gray,
         {0.13, 0.13, 0.15, 0.22, 0.24, 0.34, 0.36, 0.50, 0.55, 0.65, 0.68},
         {73, 75, 80, 84, 96, 96, 96, 96, 96, 96, 96},
         {250, 330, 400, 500, 500, 500, 500, 500, 500, 600, 700},
         {0.5, 0.6, 0.66, 0.666, 0.70, 0.74, 0.75, 0.75, 0.75, 0.9, 1.0}},
};

double at_quantile(const Deciles& deciles, double u) {
  const double place = std::clamp(u, 0.0, 1.0) * 10;
  const std::size_t below = std::min(static_cast<std::size_t>(place), deciles.size() - 2);
  const double rest = place - static_cast<double>(below);
  return deciles.at(below) * (1 - rest) + deciles.at(below + 1) * rest;
}

const Kind& draw_kind(Prng& prng) {
  double u = prng.uniform();
  for (const Kind& kind : kKinds) {
    if (u < kind.share) return kind;
    u -= kind.share;
  }
  return kKinds.front();
}

}  // namespace

SynthProfile draw_synth_profile(Prng& prng) {
  constexpr double kPortraitShare = 0.25;
  const Kind& kind = draw_kind(prng);
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

}  // namespace shardkit
