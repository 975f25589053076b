#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct SynthOptions {
  std::string target;
  std::uint64_t classes = 10;
  std::uint64_t per_class = 100;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> threads;

  void describe(FieldList& v);
};

struct SynthResult {
  std::uint64_t images = 0;
  std::uint64_t classes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t images_kept = 0;
  double mean_image_bytes = 0;
  double images_per_second = 0;

  void describe(FieldList& v);
};

/// Makes an ImageFolder tree of photo-like JPEGs, DIR/<class>/<class>_<number>.JPEG, whose sizes, subsampling and
/// decode cost are close to ImageNet's (docs/explain/synth.md). Each image is a function of the seed, its class and its
/// number, the same for any number of threads.
///
/// Files appear complete, by rename, but are not synced. A hidden file in DIR names the options, so that the same call
/// continues after a kill and keeps complete files. Throws Error{conflict} if DIR contains anything else, Error{usage}
/// for no classes, images or threads.
SynthResult synth(const SynthOptions& options, Context& context);

}  // namespace shardkit::dataset
