#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace shardkit {

/// The form of what goes to standard error.
enum class LogFormat { text, json };

template <>
struct EnumNames<LogFormat> {
  static constexpr std::array<std::string_view, 2> names{"text", "json"};
};

/// Options that every verb of both programs takes.
struct CommonOptions {
  bool with_prometheus = false;  ///< whether the verb has --prometheus; not an option itself
  bool with_findings = false;    ///< whether it has --junit and --markdown
  bool with_soft_fail = false;   ///< whether it has --soft-fail
  std::optional<std::string> json = {};
  std::optional<std::string> prometheus = {};
  std::optional<std::string> junit = {};
  std::optional<std::string> markdown = {};
  LogFormat log = LogFormat::text;
  bool quiet = false;
  bool soft_fail = false;

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
    v.field({"log", Unit::none, "form of standard error: lines for people, or a JSON object per line"}, log);
    v.field({"quiet", Unit::none, "show no progress"}, quiet);
    if (with_soft_fail) {
      v.field(
          {"soft-fail", Unit::none,
           "exit 0 although it failed, for prologs whose failure would drain the node; the error is still reported"},
          soft_fail);
    }
  }
};

}  // namespace shardkit
