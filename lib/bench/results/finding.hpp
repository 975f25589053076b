#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/finding.hpp"

/// Findings of a measurement or a check of a machine, and the rules that produce them.
namespace shardkit::bench {

inline constexpr auto kWarning = Severity::warning;
inline constexpr auto kHint = Severity::hint;

/// An obstacle of a machine: an error if the described job cannot work there. The advice is what to do.
struct MachineFinding : Finding {
  MachineFinding() = default;
  /// In the order of the fields in JSON.
  MachineFinding(std::string name, Severity level, std::string is, std::string usual, std::string remedy,
                 std::string sentence)
      : Finding{std::move(name), std::move(sentence), level, {}, std::move(remedy)},
        measured(std::move(is)),
        normal(std::move(usual)) {}

  std::string measured;
  std::string normal;  ///< normal value for a well-configured machine of this kind

  void describe(FieldList& v) {
    v.field({"code", "stable name of the finding"}, code);
    v.field({"severity", "error: the job cannot work; warning: costs speed; hint: may be on purpose"}, severity);
    v.field({"measured", "what was measured"}, measured);
    v.field({"normal", "what is normal for this class of machine"}, normal);
    v.field({"remedy", "what to do"}, advice);
    v.field({"text", "the finding in a sentence"}, text);
  }
};

/// A finding as a row of a table. Remedy and text are format strings with {measured} and the names passed to
/// add_findings().
template <class Facts>
struct FindingRule {
  std::string_view code;
  Severity severity = Severity::hint;
  std::string_view normal;
  std::string_view remedy;
  std::string_view text;
  std::optional<std::string> (*measured)(const Facts& facts);  ///< empty if everything is fine or nothing is known
};

/// `measured` if `found`: the return value of most rules.
inline std::optional<std::string> shown_if(bool found, std::string measured) {
  return found ? std::optional(std::move(measured)) : std::nullopt;
}

/// Appends the findings of the rules, in their order. `names`: fmt::arg() of each name that their texts use.
template <class Facts, class... Names>
void add_findings(std::span<const FindingRule<Facts>> rules, const Facts& facts, std::vector<MachineFinding>& findings,
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
