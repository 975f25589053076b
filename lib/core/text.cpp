#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardkit {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Whether the next eight bytes are ASCII, as most are.
bool eight_ascii(std::string_view text, std::size_t at) {
  if (text.size() - at < 8) return false;
  std::uint64_t word = 0;
  std::memcpy(&word, text.data() + at, sizeof(word));
  return (word & 0x8080808080808080U) == 0;
}

/// The length of the character at `at`; 0 when it is not well-formed.
std::size_t character_length(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() - at < length) return 0;
  const unsigned second = byte_at(text, at + 1);
  const unsigned lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < lowest || second > highest) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

bool is_scheme_character(char c) { return is_digit(c) || is_letter(c) || c == '+' || c == '-' || c == '.'; }

std::optional<double> take_decimal(std::string_view& text, std::chars_format format) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

/// The length of the login, with its '@', at the start of what follows a "scheme://". A ':' that is not before a port
/// begins a password, which may contain '/'.
std::size_t login_length(std::string_view text) {
  const std::string_view authority = text.substr(0, text.find_first_of("/?# \t\n"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) return at + 1;
  const std::size_t colon = authority.rfind(':');
  const bool has_password = colon != std::string_view::npos && !authority.ends_with(']') &&
                            !authority.starts_with("arn:") &&
                            authority.find_first_not_of("0123456789", colon + 1) != std::string_view::npos;
  return has_password ? text.substr(0, text.find_first_of(" \t\n'\"")).rfind('@') + 1 : 0;  // npos + 1 is 0
}

/// Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = eight_ascii(text, at) ? 8 : character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string as_utf8(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t bad = find_invalid_utf8(text);
    out += text.substr(0, bad);
    if (bad == std::string_view::npos) return out;
    out += "\xef\xbf\xbd";
    text.remove_prefix(bad + 1);
  }
}

std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  return parse_number(text, value) && value <= most ? std::optional(value) : std::nullopt;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<double> parse_decimal(std::string_view text) {
  const std::optional<double> value = take_decimal(text, std::chars_format::general);
  return text.empty() ? value : std::nullopt;
}

std::optional<double> leading_decimal(std::string_view text, std::string_view* after) {
  const std::optional<double> value = take_decimal(text, std::chars_format::fixed);
  if (value && after != nullptr) *after = text;
  return value;
}

std::string listed(std::span<const std::string> names, std::size_t most) {
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.first(most), ", "), names.size() - most);
}

bool has_scheme(std::string_view text, std::string_view scheme) {
  return text.size() > scheme.size() && lower_case(text.substr(0, scheme.size())) == scheme;
}

bool is_http_url(std::string_view text) { return has_scheme(text, "http://") || has_scheme(text, "https://"); }

bool is_url(std::string_view text) {
  const std::string_view scheme = text.substr(0, std::min(text.find("://"), text.size()));
  return !scheme.empty() && scheme.size() < text.size() &&
         std::ranges::all_of(scheme, [](char c) { return is_scheme_character(c); });
}

std::string without_secrets(std::string_view text) {
  if (text.starts_with("pipe:")) return "pipe:...";
  constexpr std::string_view kQuotes = "'\"`<>\n";
  constexpr std::string_view kBlanks = "'\"`<>\n\t ";
  std::string shown;
  for (std::size_t colon = text.find("://"); colon != std::string_view::npos; colon = text.find("://")) {
    const std::size_t host = colon + 3;
    shown += text.substr(0, host);
    const std::string scheme =
        lower_case(std::string_view(shown).substr(shown.size() - std::min<std::size_t>(shown.size(), 5)));
    const bool is_bucket = scheme == "s3://" || scheme == "gs://";
    text.remove_prefix(host);
    text.remove_prefix(login_length(text));
    const std::size_t end = std::min({text.find_first_of(kQuotes), text.find("://"), text.size()});
    const std::size_t query = is_bucket ? 0 : std::min(text.find('?'), end);
    shown += text.substr(0, query);
    text.remove_prefix(query);
    if (text.size() < 2 || text.front() != '?' || kBlanks.find(text[1]) != std::string_view::npos) continue;
    shown += "?...";
    text.remove_prefix(text.starts_with("?...") ? 4 : std::min(text.find_first_of(kBlanks), text.size()));
  }
  return shown + std::string(text);
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMost = 2;
  const auto begins = [&](const std::string& candidate) { return !word.empty() && candidate.starts_with(word); };
  if (std::ranges::count_if(candidates, begins) == 1) return *std::ranges::find_if(candidates, begins);
  std::string best;
  auto least = std::pair(std::clamp<std::size_t>(word.size() / 2, 1, kMost), true);  // more was not meant
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // Letters are forgotten more often than replaced, so "--lmt" means "--limit", not "--log".
    const auto mistakes = std::pair(distance, word.size() + distance != candidate.size());
    if (mistakes < least || (best.empty() && mistakes == least)) {
      least = mistakes;
      best = candidate;
    }
  }
  return best;
}

}  // namespace shardkit
