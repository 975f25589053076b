#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// What compare knows about results: the roles that their fields have in a comparison.
namespace shardkit::bench {

struct ComparedField {
  std::string_view
      verb;          ///< that measures it; in the result of `run` the member that holds it; "host": of the envelope
  std::string path;  ///< within what that verb measured: "latency_seconds.p99"
  Unit unit = Unit::none;
  Comparison role;

  /// "read.latency_seconds.p99"
  std::string name() const { return std::string(verb) + "." + path; }
};

/// All of them, verb by verb; the rates of a verb stand before its times.
const std::vector<ComparedField>& compared_fields();

/// True for an option of any verb, by its name in JSON, in which results may differ.
bool is_free_option(std::string_view name);

}  // namespace shardkit::bench
