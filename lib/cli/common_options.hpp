#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace shardkit {

/// Options that every verb of both programs takes.
struct CommonOptions {
  bool with_prometheus = false;  ///< whether the verb has --prometheus; not an option itself
  bool with_findings = false;    ///< whether it has --junit and --markdown
  std::optional<std::string> json = {};
  std::optional<std::string> prometheus = {};
  std::optional<std::string> junit = {};
  std::optional<std::string> markdown = {};
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
    if (with_findings) {
      v.field({"junit", Unit::none, "write what was found to FILE as JUnit XML, for a CI's test report", Role::option,
               "FILE"},
              junit);
      v.field({"markdown", Unit::none, "write what was found to FILE as Markdown, for a CI's job summary", Role::option,
               "FILE"},
              markdown);
    }
    v.field({"quiet", Unit::none, "show no progress"}, quiet);
  }
};

}  // namespace shardkit
