#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"

/// What text reports are made of: the generic one, and lines that several verbs have.
namespace shardkit::cli {

/// A result as text: "name  value" lines with human units, groups indented, lists as tables that stop after 20 rows
/// and say how many more there are. What is absent is left out. Control characters in values are escaped.
std::string text_report(const std::vector<FieldNode>& result);

/// The first line of an answer: the result, how long it took, and what it is about. No newline.
std::string answer_line(const Answer& answer, double elapsed_seconds);

/// An answer as text, which ends with a newline; escape sequences only when `colour`.
std::string answer_text(const Answer& answer, double elapsed_seconds, bool colour);

/// A titled table of described rows, as in text_report(); nothing without rows.
template <class Row>
std::string table_text(const char* title, std::vector<Row> rows) {
  return text_report(field_tree([&](FieldVisitor& v) { v.field({title, ""}, rows); }));
}

/// Whether a measured rate was steady: "yes", "no", or that `seconds` were too short to know.
std::string steady_text(const std::optional<bool>& steady, double seconds);

/// "48 %"; "not known" where it is empty.
std::string percent_text(const std::optional<double>& ratio);

/// Facts of one part of the machine, those that there are, divided by commas.
class Facts {
 public:
  Facts& add(const std::string& text) {
    if (!text.empty()) texts_.push_back(text);
    return *this;
  }
  template <class T>
  Facts& add_if(const std::optional<T>& value, fmt::format_string<const T&> format) {
    return value ? add(fmt::format(format, *value)) : *this;
  }
  Facts& add_size(const std::optional<std::uint64_t>& bytes, const char* what) {
    return bytes ? add(format_size(*bytes) + what) : *this;
  }
  std::string text() const { return fmt::format("{}", fmt::join(texts_, ", ")); }

 private:
  std::vector<std::string> texts_;
};

/// "name      text"; nothing when there is no text.
inline void line(std::string& out, const char* name, const std::string& text) {
  if (!text.empty()) fmt::format_to(std::back_inserter(out), "{:<10}{}\n", name, printable(text));
}

}  // namespace shardkit::cli
