#include "formats/tsv.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <system_error>

namespace shardkit::formats {
namespace {

constexpr std::string_view kSpecial = "\\\t\n\r";
constexpr std::string_view kEscaped = "\\tnr";

}  // namespace

void append_escaped(std::string& line, std::string_view text) {
  while (true) {
    const std::size_t plain = text.find_first_of(kSpecial);
    line += text.substr(0, plain);
    if (plain == std::string_view::npos) return;
    line += '\\';
    line += kEscaped[kSpecial.find(text[plain])];
    text.remove_prefix(plain + 1);
  }
}

bool unescape(std::string_view column, std::string& text) {
  text.clear();
  while (true) {
    const std::size_t plain = column.find('\\');
    text += column.substr(0, plain);
    if (plain == std::string_view::npos) return true;
    if (plain + 1 == column.size()) return false;
    const std::size_t escape = kEscaped.find(column[plain + 1]);
    if (escape == std::string_view::npos) return false;
    text += kSpecial[escape];
    column.remove_prefix(plain + 2);
  }
}

void split_columns(std::string_view line, std::vector<std::string_view>& columns) {
  columns.clear();
  while (true) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return;
    line.remove_prefix(tab + 1);
  }
}

bool parse_number(std::string_view column, std::uint64_t& value) {
  const char* end = column.data() + column.size();
  const auto [stop, error] = std::from_chars(column.data(), end, value);
  return error == std::errc() && stop == end;
}

namespace {

constexpr std::size_t kBlock = 256U * 1024U;
constexpr std::size_t kLongestLine = 1024U * 1024U;

}  // namespace

LineReader::LineReader(ByteSource& source, std::uint64_t begin, std::uint64_t end)
    : source_(source), read_offset_(begin), end_(end), next_offset_(begin) {}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = position_;
  while (true) {
    const std::size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos) {
      line = std::string_view(buffer_).substr(position_, newline - position_);
      position_ = newline + 1;
      line_offset_ = next_offset_;
      next_offset_ += line.size() + 1;
      return true;
    }
    const std::size_t pending = buffer_.size() - position_;
    if (pending > kLongestLine || !fill()) return false;
    searched = pending;
  }
}

bool LineReader::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t kept = buffer_.size();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end_ - read_offset_));
  buffer_.resize(kept + wanted);
  const std::size_t got = source_.read_at(read_offset_, std::as_writable_bytes(std::span(buffer_)).subspan(kept));
  buffer_.resize(kept + got);
  read_offset_ += got;
  return got > 0;
}

}  // namespace shardkit::formats
