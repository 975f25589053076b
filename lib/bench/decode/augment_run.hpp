#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/input/jpeg_store.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// Augmenting as a stage of its own: flip, normalise, collate, timed without decoding.
namespace shardkit::bench {

enum class Augmentation {
  none,
  imagenet,  ///< flip one in two, normalise with ImageNet's mean and deviation
};
constexpr auto enum_names(Augmentation) { return std::to_array<std::string_view>({"none", "imagenet"}); }

struct AugmentSettings {
  image::TensorType type = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
  std::uint32_t side = 224;
  unsigned threads = 1;
  double min_seconds = 2;
  std::uint64_t seed = 0;
};

struct AugmentResult {
  image::TensorType dtype = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
  std::uint64_t crops = 0;
  std::uint64_t augmented = 0;
  double augment_seconds = 0;
  double cpu_seconds = 0;
  double samples_per_second = 0;
  std::optional<RateInterval> samples_per_second_interval;
  std::optional<bool> steady;  ///< empty: too short to tell
  double samples_per_second_per_core = 0;
  double bytes_per_second = 0;  ///< of tensors written
  std::vector<CoresNeeded> cores_needed;

  void describe(FieldVisitor& v);
};

/// Throws Error{no_space} when the tensors take more memory than may be used.
void check_augment(const AugmentSettings& settings);

/// Decodes at most 256 random crops of the store's images, then augments them in turn, each thread into batch tensors
/// of its own of up to 16 samples, for at least `min_seconds` and at least once each. Throws what
/// check_augment() throws, and Error{corrupt} when no image decodes.
AugmentResult measure_augment(const JpegStore& store, const AugmentSettings& settings, Context& context);

}  // namespace shardkit::bench
