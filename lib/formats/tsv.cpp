#include "formats/tsv.hpp"

#include <algorithm>
#include <span>

#include "core/hash.hpp"

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

void seal_line(std::string& line) { line += '\t' + to_hex(xxh3_64(as_bytes(line))) + '\n'; }

bool unseal_line(std::string_view& line) {
  const std::size_t tab = line.rfind('\t');
  std::uint64_t checksum = 0;
  if (tab == std::string_view::npos || !parse_hex(line.substr(tab + 1), checksum)) return false;
  line = line.substr(0, tab);
  return checksum == xxh3_64(as_bytes(line));
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

std::string read_text(ByteSource& source, std::uint64_t offset, std::uint64_t length) {
  std::string text(length, '\0');
  text.resize(source.read_at(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

bool SourceWindow::grow() {
  constexpr std::size_t kBlock = 256U * 1024U;
  buffer_.erase(0, passed_);
  passed_ = 0;
  const std::size_t kept = buffer_.size();
  const std::uint64_t end = std::min(source_.size(), end_);
  const std::uint64_t left = end - std::min(end, offset_ + kept);
  buffer_.resize(kept + static_cast<std::size_t>(std::min<std::uint64_t>(std::max(kBlock, kept), left)));
  const std::size_t got = source_.read_at(offset_ + kept, std::as_writable_bytes(std::span(buffer_)).subspan(kept));
  buffer_.resize(kept + got);
  return got > 0;
}

void SourceWindow::pass(std::size_t count) {
  passed_ += count;
  offset_ += count;
}

bool LineReader::next(std::string_view& line) {
  constexpr std::size_t kLongestLine = 1024U * 1024U;
  for (std::size_t searched = 0;;) {
    const std::string_view text = window_.text();
    const std::size_t newline = text.find('\n', searched);
    if (newline != std::string_view::npos) {
      line = text.substr(0, newline);
      line_offset_ = window_.offset();
      window_.pass(newline + 1);
      return true;
    }
    searched = text.size();
    if (searched > kLongestLine || !window_.grow()) return false;
  }
}

}  // namespace shardkit::formats
