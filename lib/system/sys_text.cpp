#include "system/sys_text.hpp"

#include <algorithm>
#include <charconv>

namespace shardkit {

std::optional<std::uint64_t> sys_number(const Probe& probe, const std::string& path) {
  const auto text = probe.text(path);
  return text ? parse_number(*text) : std::nullopt;
}

std::string sys_word(const Probe& probe, const std::string& path) {
  return std::string(trimmed(probe.text(path).value_or("")));
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

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view line_value(std::string_view text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    if (line.starts_with(name)) return trimmed(line.substr(name.size()));
  }
  return {};
}

std::vector<unsigned> parse_cpu_list(std::string_view list) {
  constexpr std::size_t kMost = 65536;
  std::vector<unsigned> cpus;
  for (const auto range : split(list, ',')) {
    const auto ends = split(range, '-');
    if (ends.empty()) continue;
    const auto first = parse_number(ends.front());
    const auto last = parse_number(ends.back());
    if (!first || !last || *last >= kMost) continue;
    for (std::uint64_t cpu = *first; cpu <= *last && cpus.size() < kMost; ++cpu) {
      cpus.push_back(static_cast<unsigned>(cpu));
    }
  }
  return cpus;
}

std::string last_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

}  // namespace shardkit
