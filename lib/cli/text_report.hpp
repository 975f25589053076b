#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/field_text.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"

/// Parts of text reports: the generic one, and lines that several verbs share.
namespace shardkit::cli {

/// A result as text: "name  value" lines with units, indented groups, lists as tables that stop after 20 rows with the
/// number of the others. Absent values are left out. Control characters in values are escaped.
std::string text_report(const std::vector<FieldNode>& result);

/// If a flag of a measurement is unknown, such as whether its rate was steady, shows that with the reason: the measured
/// time is too short. That time is the first duration next to the flag. The same for groups.
void explain_unknown_flags(std::vector<FieldNode>& nodes);

/// Existing facts of one part of the machine, separated by commas.
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

/// "name      text"; nothing if there is no text.
inline void line(std::string& out, const char* name, const std::string& text) {
  if (!text.empty()) fmt::format_to(std::back_inserter(out), "{:<10}{}\n", name, printable(text));
}

}  // namespace shardkit::cli
