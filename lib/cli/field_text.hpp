#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_tree.hpp"

/// Texts for fields, shared by help, manual, reference and reports.
namespace shardkit::cli {

/// A number as text: "256 MiB", "3.30 GB/s", "4 min 10 s", "12,000", "0.973".
std::string format_value(std::uint64_t value, Unit unit);
std::string format_value(double value, Unit unit);

/// Text with control characters escaped, including C1: a file name may contain newlines and escape sequences, which
/// must not reach a terminal. Logins and queries of URLs are removed, as in without_secrets().
std::string printable(std::string_view text);

/// Removes logins and signatures from addresses in all values, because reports must not show them.
void hide_secrets(std::vector<FieldNode>& nodes);

/// With a backslash before each character of `special`, for shells, tables and metrics.
std::string escaped(std::string_view text, std::string_view special);

/// The value of a scalar node as text, shares in percent; empty if absent.
std::string value_text(const FieldNode& node);

/// The label of a result field in a report: "files per second"; "scan" for "scan_seconds", whose value shows its unit.
std::string label(const FieldNode& node);

/// Placeholder of an option's value in help: its value_name, the choices "none|header|decode", or from unit and kind:
/// SIZE, TIME, N, TEXT. Empty for a flag.
std::string value_name(const FieldNode& option);

/// "--size SIZE", "--no-shuffle", "SRC", "[PATH...]".
std::string option_spelling(const FieldNode& option);

/// The default as typed by a user: "256MiB", "30s", "structure"; empty if there is none.
std::string default_text(const FieldNode& option);

/// The help text of an option, with its default: "read block (default: 1MiB)".
std::string help_text(const FieldNode& option);

/// "shardctl convert SRC DST [options]"
std::string synopsis(std::string_view program, std::string_view verb, const std::vector<FieldNode>& options);

/// Breaks `text` at blanks into lines of at most `width` columns; empty lines separate paragraphs and are kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// The text with line ends in place of blanks where a line would be longer than `columns`. All else stays as it is, and
/// escape sequences of colors count no columns.
std::string broken_at_blanks(std::string text, std::size_t columns);

}  // namespace shardkit::cli
