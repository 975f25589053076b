#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"

/// What a measurement or a look at a machine points at, and the rules that find it.
namespace shardkit::bench {

enum class FindingSeverity {
  error,    ///< the job as described cannot work here
  warning,  ///< costs speed or spoils measurements
  hint,     ///< may be so on purpose, or matters only to some
};
constexpr auto enum_names(FindingSeverity) { return std::to_array<std::string_view>({"error", "warning", "hint"}); }

/// Something about a machine that a good engineer would point at.
struct Finding {
  std::string code;  ///< stable and snake_case
  FindingSeverity severity = FindingSeverity::hint;
  std::string measured;
  std::string normal;  ///< what it would be on a machine of this kind that is set up well
  std::string remedy;
  std::string text;

  void describe(FieldVisitor& v) {
    v.field({"code", "stable name of the finding"}, code);
    v.field({"severity", "error: the job cannot work; warning: costs speed; hint: may be on purpose"}, severity);
    v.field({"measured", "what was measured"}, measured);
    v.field({"normal", "what is normal for this class of machine"}, normal);
    v.field({"remedy", "what to do"}, remedy);
    v.field({"text", "the finding in a sentence"}, text);
  }
};

/// A finding as a row of a table. Remedy and text are format strings, in which {measured} and the names that
/// add_findings() is given stand for what was found.
template <class Facts>
struct FindingRule {
  std::string_view code;
  FindingSeverity severity = FindingSeverity::hint;
  std::string_view normal;
  std::string_view remedy;
  std::string_view text;
  std::optional<std::string> (*measured)(const Facts& facts);  ///< empty where all is well or nothing is known
};

/// `measured` where `found`: what most rules return.
inline std::optional<std::string> shown_if(bool found, std::string measured) {
  return found ? std::optional(std::move(measured)) : std::nullopt;
}

/// Appends what the rules find, in their order. `names`: fmt::arg() of each name that their texts use.
template <class Facts, class... Names>
void add_findings(std::span<const FindingRule<Facts>> rules, const Facts& facts, std::vector<Finding>& findings,
                  const Names&... names) {
  for (const FindingRule<Facts>& rule : rules) {
    const std::optional<std::string> measured = rule.measured(facts);
    if (!measured) continue;
    const auto filled = [&](std::string_view text) {
      return fmt::format(fmt::runtime(text), fmt::arg("measured", *measured), names...);
    };
    findings.push_back({std::string(rule.code), rule.severity, *measured, std::string(rule.normal), filled(rule.remedy),
                        filled(rule.text)});
  }
}

}  // namespace shardkit::bench
