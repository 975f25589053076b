#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/outcome.hpp"
#include "core/field_tree.hpp"

/// The JSON result that every verb of both programs writes; cli/documents/schema.cpp describes it.
namespace shardkit::cli {

inline constexpr int kSchemaVersion = 1;

/// Everything that goes into one envelope besides host and build.
struct Report {
  std::string_view program;
  std::string_view verb;  ///< as typed: "stage", "cache ls"
  std::chrono::system_clock::time_point started_at;
  double elapsed_seconds = 0;
  std::vector<FieldNode> options;
  std::vector<FieldNode> result;  ///< ignored when the outcome is a failure
  std::vector<Warning> warnings;
  Outcome outcome;
};

/// The envelope as text, indented by 1, newline at the end. Valid JSON for any input: NaN and infinity become null,
/// bytes that are not UTF-8 become U+FFFD.
std::string envelope_json(const Report& report);

}  // namespace shardkit::cli
