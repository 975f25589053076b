#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

/// Cores that one GPU of a JPEG preset keeps busy with a stage.
struct CoresNeeded {
  std::string preset;
  double samples_per_second = 0;
  double cores = 0;

  void describe(FieldVisitor& v);
};

/// A row for every JPEG preset: its samples per second over those that one core does. None when `per_core` is 0.
std::vector<CoresNeeded> cores_needed(double per_core);

}  // namespace shardkit
