#pragma once

#include <optional>

#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"
#include "image/jpeg_resizer.hpp"

namespace shardkit {

/// What a plan says is to be done with each image on its way into a shard.
struct ImageRules {
  Validate validate = Validate::none;
  OnBad on_bad = OnBad::fail;
  std::optional<ResizeOptions> resize;
};

/// Throws Error{corrupt} for a plan whose options say nothing or nonsense about it.
ImageRules image_rules(const PlanHead& head);

}  // namespace shardkit
