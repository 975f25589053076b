#include "formats/tsv.hpp"

#include <charconv>
#include <system_error>

namespace shardkit {
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

}  // namespace shardkit
