#include "system/sys_text.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace shardkit {

std::optional<std::string> sys_text(const std::string& root, std::string_view path) {
  std::ifstream file(root + "/" + std::string(path));
  if (!file) return std::nullopt;
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return std::nullopt;
  text.erase(text.find_last_not_of(" \t\n") + 1);
  return text;
}

std::optional<std::uint64_t> sys_number(const std::string& root, std::string_view path) {
  const auto text = sys_text(root, path);
  return text ? parse_number(*text) : std::nullopt;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) pieces.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

}  // namespace shardkit
