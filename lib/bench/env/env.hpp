#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/env/environment.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench env`: what this machine is, and what about it would slow training down. Measures nothing.
namespace shardkit::bench {

struct EnvOptions {
  std::optional<std::string> path;
  bool strict = false;
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;

  void describe(FieldVisitor& v) {
    v.field({"PATH", "the data: a folder, a file or a block device", Role::optional_positional}, path);
    v.field({"strict", "exit code 3 when there are errors or warnings"}, strict);
    v.field({"workers", Unit::count, "loader processes per GPU that are planned", between(1, 1'000'000)}, workers);
    v.field({"gpus", Unit::count, "GPUs that train together on this node; 1", between(1, 1'000'000)}, gpus);
    v.field({"batch", Unit::count, "samples per GPU and step; 256", between(1, 1'000'000)}, batch);
    v.field({"prefetch", Unit::count, "batches that each worker keeps ready", between(1, 1'000'000)}, prefetch);
    v.field({"crop", Unit::count, "side of the decoded crop in pixels", between(1, 65536)}, crop);
    v.field({"dtype", "type of the decoded values"}, dtype);
  }
};

struct EnvResult {
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  bool strict = false;      ///< from the options; decides has_findings()
  Environment environment;  ///< its members stand in the result itself

  bool has_findings() const { return strict && errors + warnings > 0; }

  void describe(FieldVisitor& v) {
    v.field({"errors", Unit::count, "findings that make the described loader fail"}, errors);
    v.field({"warnings", Unit::count, "findings that cost speed or spoil measurements"}, warnings);
    environment.describe(v);
  }
};

/// Throws Error{usage} for impossible options or a path of a kind that holds no data, Error{not_found, denied} for a
/// path that is not there.
EnvResult env(const EnvOptions& options, Context& context);

}  // namespace shardkit::bench
