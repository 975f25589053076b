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

/// Parts of text reports: the generic one, and lines that several verbs share.
namespace shardkit::cli {

/// A result as text: "name  value" lines with units, indented groups, lists as tables that stop after 20 rows with the
/// number of the others. Absent values are left out. Control characters in values are escaped.
std::string text_report(const std::vector<FieldNode>& result);
/// Without counts, sizes, rates and times that are 0, for --verbose.
std::vector<FieldNode> without_zeros(std::vector<FieldNode> result);

/// The first line of an answer: the result, its duration and its subject. No newline.
std::string answer_line(const Answer& answer, double elapsed_seconds);

/// How a text is shown.
struct TextStyle {
  bool color = false;       ///< with escape sequences
  std::size_t columns = 0;  ///< sentences are broken into lines of at most so many; 0: each is one line
};

/// An answer as text that ends with a newline.
std::string answer_text(const Answer& answer, double elapsed_seconds, const TextStyle& style);

/// `text` in a color, where colors are shown: answer_text() removes it elsewhere.
std::string painted(std::string_view text, Tone tone);

/// A titled table of described rows, as in text_report(); nothing without rows.
template <class Row>
std::string table_text(const char* title, std::vector<Row> rows) {
  return text_report(field_tree([&](FieldList& v) { v.field({title, ""}, rows); }));
}

/// Whether a measured rate was steady: "yes", "no", or that it is unknown because `seconds` were too short.
std::string steady_text(const std::optional<bool>& steady, double seconds);

/// "12 samples"; empty for 0, so that an answer leaves it out.
std::string count_text(std::uint64_t count, std::string_view noun);

/// "40 to 60 samples"; "50 samples each" if all have the same.
std::string spread_text(std::uint64_t least, std::uint64_t most, std::string_view noun);

/// "48 %"; "unknown" if it is empty.
std::string percent_text(const std::optional<double>& ratio);

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
