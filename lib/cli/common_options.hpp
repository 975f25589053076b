#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace shardkit {

/// Options that every verb of both programs takes.
struct CommonOptions {
  bool with_prometheus = false;  ///< whether the verb has --prometheus; not an option itself
  std::optional<std::string> json = {};
  std::optional<std::string> prometheus = {};
  bool quiet = false;

  void describe(FieldVisitor& v) {
    v.field({"json", Unit::none, "write the result as JSON to FILE; - is standard output, then nothing else goes there",
             Role::option, "FILE"},
            json);
    if (with_prometheus) {
      v.field({"prometheus", Unit::none,
               "write metrics to FILE for the textfile collector of Prometheus' node_exporter", Role::option, "FILE"},
              prometheus);
    }
    v.field({"quiet", Unit::none, "show no progress"}, quiet);
  }
};

}  // namespace shardkit
