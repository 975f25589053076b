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
  std::optional<std::string> cache_state;  ///< in which reading was measured, as cache_state() names it

  void describe(FieldVisitor& v) {
    v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes that storage gives"}, read_bytes_per_second);
    v.field({"read_samples_per_second", Unit::per_second, "samples that storage gives"}, read_samples_per_second);
    v.field({"decode_samples_per_second", Unit::per_second,
             "samples that the cores decode; from a run, beside reading them"},
            decode_samples_per_second);
    v.field({"decode_samples_per_second_per_core", Unit::per_second, "samples that one core decodes"},
            decode_samples_per_second_per_core);
    v.field({"cache_state", Unit::none, "what the page cache held when reading was measured"}, cache_state);
  }
};

/// Takes the rates out of a result that `iobench read`, `decode` or `run` wrote with --json; of a run the
/// decoding rate beside reading, by which it judges too. Throws Error{corrupt} when
/// the file is no such result, Error{usage} when it is one of another verb or of a run that failed.
Supply read_measured_supply(const std::string& path);

}  // namespace shardkit
