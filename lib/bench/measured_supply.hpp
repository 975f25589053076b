#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace shardkit {

/// What a node gives, as far as it is known.
struct Supply {
  std::optional<double> read_bytes_per_second;
  std::optional<double> read_samples_per_second;
  std::optional<double> decode_samples_per_second;
  std::optional<double> decode_samples_per_second_per_core;

  void describe(FieldVisitor& v) {
    v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes that storage gives"}, read_bytes_per_second);
    v.field({"read_samples_per_second", Unit::per_second, "samples that storage gives"}, read_samples_per_second);
    v.field({"decode_samples_per_second", Unit::per_second, "samples that the cores decode"},
            decode_samples_per_second);
    v.field({"decode_samples_per_second_per_core", Unit::per_second, "samples that one core decodes"},
            decode_samples_per_second_per_core);
  }
};

/// Takes the rates out of a result that `iobench read`, `decode` or `run` wrote with --json. Throws Error{corrupt} when
/// the file is no such result, Error{usage} when it is one of another verb or of a run that failed.
Supply read_measured_supply(const std::string& path);

}  // namespace shardkit
