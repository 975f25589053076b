#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace shardkit {

enum class Severity {
  error,    ///< data is lost or confused, or the described job cannot work
  warning,  ///< causes trouble for some, costs speed or distorts measurements
  hint,     ///< may be on purpose, or matters only to some
};
constexpr auto enum_names(Severity) { return std::to_array<std::string_view>({"error", "warning", "hint"}); }

/// Something that the user should know and that does not stop the command: a warning, a fault of a shard, an obstacle
/// of a machine. Kinds that are measured or counted add their numbers to it.
struct Finding {
  std::string code;  ///< stable and snake_case
  std::string text;  ///< a sentence
  Severity severity = Severity::warning;
  At where = {};            ///< without a path: the whole set, or the machine
  std::string advice = {};  ///< what to do; empty if the text contains it
};

}  // namespace shardkit
