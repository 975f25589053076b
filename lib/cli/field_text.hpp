#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_tree.hpp"

/// Words for fields: what help, manual, reference and reports all say in the same way.
namespace shardkit::cli {

/// A number as people read it: "256 MiB", "3.30 GB/s", "4 min 10 s", "12,000", "0.973".
std::string format_value(std::uint64_t value, Unit unit);
std::string format_value(double value, Unit unit);

/// Text with control characters escaped, C1 too: a file name may hold newlines and escape sequences, which must not
/// reach a terminal. Logins and queries of URLs are left out, as without_secrets() does.
std::string printable(std::string_view text);

/// With a backslash before each character of `special`, as shells, tables and metrics want it.
std::string escaped(std::string_view text, std::string_view special);

/// A headline for a terminal with colours; as it is for any other.
std::string bold(std::string_view text, bool colour);

/// The value of a scalar node as people read it, shares in per cent; empty when absent.
std::string value_text(const FieldNode& node);

/// The label of a result field in a report: "files per second"; "scan" for "scan_seconds", whose value shows its unit.
std::string label(const FieldNode& node);

/// What stands for an option's value in help: its value_name, the choices "none|header|decode", or made from the unit
/// and kind: SIZE, TIME, N, TEXT. Empty for a flag.
std::string value_name(const FieldNode& option);

/// "--size SIZE", "--no-shuffle", "SRC", "[PATH...]".
std::string option_spelling(const FieldNode& option);

/// The default as a user would type it: "256MiB", "30s", "structure"; empty when there is none to speak of.
std::string default_text(const FieldNode& option);

/// What the option is for, and its default: "read block (default: 1MiB)".
std::string help_text(const FieldNode& option);

/// "shardctl convert SRC DST [options]"
std::string synopsis(std::string_view program, std::string_view verb, const std::vector<FieldNode>& options);

/// Breaks `text` at blanks into lines of at most `width` columns; empty lines in it part paragraphs and stay.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace shardkit::cli
