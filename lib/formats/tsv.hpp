#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Lines of tab-separated columns. Inside a column, backslash, tab, newline and carriage return are written \\ \t \n
/// \r, so that any file name fits and a line is always one record. All other bytes stand for themselves.
namespace shardkit {

/// Appends `text`, escaped.
void append_escaped(std::string& line, std::string_view text);

/// Undoes append_escaped; false when a backslash is followed by anything else.
bool unescape(std::string_view column, std::string& text);

/// Splits a line without its newline at tabs; the views live as long as the line. Reuses `columns`.
void split_columns(std::string_view line, std::vector<std::string_view>& columns);

/// Reads a decimal number that fills the whole column; false otherwise.
bool parse_number(std::string_view column, std::uint64_t& value);

}  // namespace shardkit
