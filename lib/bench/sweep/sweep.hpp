#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/sweep/sweep_plan.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench sweep`: the best settings on this node, and the knees of the curves.
namespace shardkit::bench {

enum class SweepWhat { all, read, load };
constexpr auto enum_names(SweepWhat) { return std::to_array<std::string_view>({"all", "read", "load"}); }

struct SweepOptions {
  std::vector<std::string> paths;
  SweepWhat what = SweepWhat::all;
  CacheRequest cache = CacheRequest::cold;
  bool direct = false;
  std::uint64_t batch = 64;
  std::optional<double> step_time;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  double budget = 180;
  catalog::StoreAccess access = {};

  void describe(FieldVisitor& v);
};

struct SweepResult {
  std::string text;  ///< one line
  SweepSettings settings;
  std::vector<std::string> commands;  ///< to use the settings
  std::vector<SweepRow> rows;
  double point_seconds = 0;

  void describe(FieldVisitor& v);
};

/// Takes about `budget` seconds at most. Writes nothing. Where there are no images to load but data to read,
/// SweepWhat::all warns and stays with reading.
SweepResult sweep(const SweepOptions& options, Context& context);

}  // namespace shardkit::bench
