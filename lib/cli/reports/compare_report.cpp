#include "cli/reports/compare_report.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/field_text.hpp"

namespace shardkit {
namespace {

std::string value_or_none(const std::string& value) { return value.empty() ? "-" : printable(value); }

template <class E>
std::string_view word(E verdict) {
  return EnumNames<E>::names[static_cast<std::size_t>(verdict)];
}

const char* colour_of(std::string_view verdict) {
  if (verdict.starts_with("regressed") || verdict.starts_with("incomparable") || verdict.starts_with("gate missed")) {
    return "\x1b[1;31m";
  }
  if (verdict.starts_with("inconclusive") || verdict.starts_with("gate inconclusive")) return "\x1b[1;33m";
  return "\x1b[1;32m";
}

void print_differences(const std::vector<Difference>& differences, std::string& out) {
  if (differences.empty()) return;
  out += "\nmeasured differently:\n";
  for (const Difference& d : differences) {
    const char* weight = !d.decisive ? "" : d.allowed ? "  allowed" : "  makes them incomparable";
    fmt::format_to(std::back_inserter(out), "  {}: {} -> {}{}\n", printable(d.key), value_or_none(d.base),
                   value_or_none(d.changed), weight);
  }
}

/// Verdict, name and text of each, in columns.
template <class Row, class VerdictOf>
void print_rows(const std::vector<Row>& rows, const VerdictOf& verdict_of, std::string& out) {
  if (rows.empty()) return;
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.metric.size());
  out += '\n';
  for (const Row& row : rows) {
    fmt::format_to(std::back_inserter(out), "{:<12}  {:<{}}  {}\n", word(verdict_of(row)), row.metric, width, row.text);
  }
}

CiCase::Outcome outcome_of(const std::string& verdict, bool fail_on_inconclusive) {
  if (verdict == "pass" || verdict == "improved" || verdict == "met") return CiCase::Outcome::passed;
  if (verdict == "inconclusive" && !fail_on_inconclusive) return CiCase::Outcome::skipped;
  if (verdict == "incomparable") return CiCase::Outcome::skipped;  // the difference is what failed
  return CiCase::Outcome::failed;
}

bool decides(const std::vector<FieldNode>& difference) {
  return member_text(difference, "decisive") == "yes" && member_text(difference, "allowed") == "no";
}

const std::vector<FieldNode>& items(const Report& report, std::string_view list) {
  static const std::vector<FieldNode> none;
  const FieldNode* node = find_member(report.result, list);
  return node == nullptr ? none : node->children;
}

void add_table(const Report& report, std::string_view list, std::string& out) {
  if (items(report, list).empty()) return;
  out += "\n| verdict | metric | what was measured |\n|---|---|---|\n";
  for (const FieldNode& row : items(report, list)) {
    out += fmt::format("| {} | `{}` | {} |\n", member_text(row.children, "verdict"),
                       member_text(row.children, "metric"), markdown_text(member_text(row.children, "text")));
  }
}

}  // namespace

std::string render_compare(const CompareResult& result, bool colour) {
  std::string out =
      fmt::format("{}{}{}\n", colour ? colour_of(result.text) : "", printable(result.text), colour ? "\x1b[0m" : "");
  print_differences(result.differences, out);
  print_rows(
      result.rows, [](const CompareRow& row) { return row.change.verdict; }, out);
  print_rows(
      result.gate, [](const GateRow& row) { return row.verdict; }, out);
  if (!result.hints.empty()) out += '\n';
  for (const std::string& hint : result.hints) out += fmt::format("hint: {}\n", hint);
  return out;
}

bool is_comparison(const Report& report) {
  return find_member(report.result, "rows") != nullptr && find_member(report.result, "differences") != nullptr;
}

std::vector<CiCase> compare_cases(const Report& report) {
  const bool strict = member_text(report.options, "fail_on_inconclusive") == "yes";
  std::vector<CiCase> cases;
  for (const FieldNode& item : items(report, "differences")) {
    if (!decides(item.children)) continue;
    cases.push_back({"conditions", member_text(item.children, "key"), CiCase::Outcome::failed,
                     fmt::format("{} in BASE, {} in NEW", value_or_none(member_text(item.children, "base")),
                                 value_or_none(member_text(item.children, "new")))});
  }
  for (const std::string_view list : {"rows", "gate"}) {
    for (const FieldNode& item : items(report, list)) {
      const std::string verdict = member_text(item.children, "verdict");
      const bool derived = list == "rows" && member_text(item.children, "derived") == "yes";
      cases.push_back({list == "rows" ? "metrics" : "gate", member_text(item.children, "metric"),
                       derived ? CiCase::Outcome::skipped : outcome_of(verdict, strict),
                       fmt::format("{}: {}", verdict, member_text(item.children, "text"))});
    }
  }
  return cases;
}

std::string compare_markdown(const Report& report) {
  if (report.outcome.failure) return markdown_heading(report, "");
  std::string out = markdown_heading(report, markdown_text(member_text(report.result, "text")));
  if (!items(report, "differences").empty()) out += "\n| measured differently | BASE | NEW | |\n|---|---|---|---|\n";
  for (const FieldNode& item : items(report, "differences")) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", member_text(item.children, "key"),
                       markdown_text(value_or_none(member_text(item.children, "base"))),
                       markdown_text(value_or_none(member_text(item.children, "new"))),
                       decides(item.children) ? "makes them incomparable" : "");
  }
  add_table(report, "rows", out);
  add_table(report, "gate", out);
  for (const std::string& hint : std::get<std::vector<std::string>>(find_member(report.result, "hints")->value)) {
    out += fmt::format("\n{}\n", markdown_text(hint));
  }
  return out;
}

}  // namespace shardkit
