#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace shardkit {

enum class FindingSeverity {
  error,    ///< the job as described cannot work here
  warning,  ///< costs speed or spoils measurements
  hint,     ///< may be so on purpose, or matters only to some
};
template <>
struct EnumNames<FindingSeverity> {
  static constexpr std::array<std::string_view, 3> names{"error", "warning", "hint"};
};

/// Something about a machine that a good engineer would point at.
struct Finding {
  std::string code;  ///< stable and snake_case
  FindingSeverity severity = FindingSeverity::hint;
  std::string measured;
  std::string normal;  ///< what it would be on a machine of this kind that is set up well
  std::string remedy;
  std::string text;

  void describe(FieldVisitor& v) {
    v.field({"code", Unit::none, "stable name of the finding"}, code);
    v.field({"severity", Unit::none, "error: the job cannot work; warning: costs speed; hint: may be on purpose"},
            severity);
    v.field({"measured", Unit::none, "what is so here"}, measured);
    v.field({"normal", Unit::none, "what is normal for this class of machine"}, normal);
    v.field({"remedy", Unit::none, "what to do"}, remedy);
    v.field({"text", Unit::none, "the finding in a sentence"}, text);
  }
};

}  // namespace shardkit
