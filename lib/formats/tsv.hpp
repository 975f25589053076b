#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

/// Lines of tab-separated columns. Inside a column, backslash, tab, newline and carriage return are written \\ \t \n
/// \r, so that any file name fits and a line is always one record. All other bytes are unchanged.
namespace shardkit::formats {

/// Appends `text`, escaped.
void append_escaped(std::string& line, std::string_view text);

/// Reverses append_escaped; false if a backslash is followed by anything else.
bool unescape(std::string_view column, std::string& text);

/// Ends a line of state: appends a tab, XXH3-64 of the line in 16 digits, and a newline.
void seal_line(std::string& line);
/// Removes the checksum from a line without its newline; false if it has none or that of another line.
bool unseal_line(std::string_view& line);

/// Splits a line without its newline at tabs; the views are valid as long as the line. Reuses `columns`.
void split_columns(std::string_view line, std::vector<std::string_view>& columns);

/// Splits "a:b:c" into as many parts as `parts` has, the last with the rest; false if there are fewer.
template <std::size_t count>
bool split_parts(std::string_view column, std::array<std::string_view, count>& parts) {
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::size_t colon = column.find(':');
    if (colon == std::string_view::npos) return false;
    parts[i] = column.substr(0, colon);
    column.remove_prefix(colon + 1);
  }
  parts[count - 1] = column;
  return true;
}

/// The `length` bytes from `offset`; fewer only at the end of the source.
std::string read_text(ByteSource& source, std::uint64_t offset, std::uint64_t length);

/// A part of a ByteSource in memory that moves from its start to its end: for formats whose records are parsed from one
/// piece of text. If a record is incomplete, grow the window and parse it again from its start: the window doubles, so
/// that the work stays linear.
class SourceWindow {
 public:
  /// Starts at byte `begin` and ends at `end`, or the source's end.
  explicit SourceWindow(ByteSource& source, std::uint64_t begin = 0, std::uint64_t end = UINT64_MAX)
      : source_(source), end_(end), offset_(begin) {}

  /// The bytes in memory that were not yet passed; valid until grow().
  std::string_view text() const { return std::string_view(buffer_).substr(passed_); }
  /// Position of text() in the source.
  std::uint64_t offset() const { return offset_; }

  /// Adds bytes after text(); false if the source has no more.
  bool grow();
  /// Passes the first `count` bytes of text().
  void pass(std::size_t count);

 private:
  ByteSource& source_;
  std::uint64_t end_;
  std::string buffer_;
  std::size_t passed_ = 0;
  std::uint64_t offset_;
};

/// Reads a ByteSource line by line through one buffer. Lines end with '\n'; a last line without it is not returned,
/// because all our line formats end with one: without it the file is incomplete.
class LineReader {
 public:
  /// Reads from byte `begin` up to `end`.
  LineReader(ByteSource& source, std::uint64_t begin, std::uint64_t end) : window_(source, begin, end) {}

  /// The next line without its newline, valid until the next call; false at the end. A line longer than 1 MiB ends the
  /// reading as if the file ended there.
  bool next(std::string_view& line);

  /// Position of the last returned line in the source.
  std::uint64_t line_offset() const { return line_offset_; }
  /// Position of the next line.
  std::uint64_t next_offset() const { return window_.offset(); }

 private:
  SourceWindow window_;
  std::uint64_t line_offset_ = 0;
};

}  // namespace shardkit::formats
