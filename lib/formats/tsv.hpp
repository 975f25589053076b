#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

/// Lines of tab-separated columns. Inside a column, backslash, tab, newline and carriage return are written \\ \t \n
/// \r, so that any file name fits and a line is always one record. All other bytes stand for themselves.
namespace shardkit::formats {

/// Appends `text`, escaped.
void append_escaped(std::string& line, std::string_view text);

/// Undoes append_escaped; false when a backslash is followed by anything else.
bool unescape(std::string_view column, std::string& text);

/// Splits a line without its newline at tabs; the views live as long as the line. Reuses `columns`.
void split_columns(std::string_view line, std::vector<std::string_view>& columns);

/// Reads a decimal number that fills the whole column; false otherwise.
bool parse_number(std::string_view column, std::uint64_t& value);

/// Reads a ByteSource line by line through one buffer. Lines end with '\n'; a last line without it is not returned,
/// because all our line formats end with one: its absence means that the file was cut.
class LineReader {
 public:
  /// Reads from byte `begin` up to `end`.
  LineReader(ByteSource& source, std::uint64_t begin, std::uint64_t end);

  /// The next line without its newline, valid until the next call; false at the end. A line longer than 1 MiB ends the
  /// reading as if the file were cut there.
  bool next(std::string_view& line);

  /// Where the line last returned starts in the source.
  std::uint64_t line_offset() const { return line_offset_; }
  /// Where the next line starts.
  std::uint64_t next_offset() const { return next_offset_; }

 private:
  bool fill();

  ByteSource& source_;
  std::uint64_t read_offset_;  ///< of the first byte not yet in buffer_
  std::uint64_t end_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::uint64_t line_offset_ = 0;
  std::uint64_t next_offset_;
};

}  // namespace shardkit::formats
