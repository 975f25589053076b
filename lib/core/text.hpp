#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace shardkit {

/// A-Z as a-z; every other byte, including UTF-8, unchanged. Independent of the locale.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Of ASCII, independent of the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return lower_case(c) >= 'a' && lower_case(c) <= 'z'; }

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

/// Position of the first byte that is not well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms,
/// nothing above U+10FFFF); npos if there is none. A character cut by the text's end is not well-formed.
std::size_t find_invalid_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; }

/// Each byte that is not UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view text);

/// Numbers in files, headers, URLs, /proc and command lines are read by the functions below, those in JSON by
/// json_count(). A number that does not fit is invalid: it is never wrapped, cut or clamped.

/// Parses `text` as a whole number, without blanks and '+', and with '-' only if Number has a sign. False for anything
/// else and for numbers that Number cannot represent; then `value` is unchanged.
template <std::integral Number>
bool parse_number(std::string_view text, Number& value, int base = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

/// The same, from 0 to `most`; empty if parse_number() is false.
std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t most = UINT64_MAX);

/// True for decimal digits only: a whole number, even if it is too large to be read.
bool is_digits(std::string_view text);

/// Parses `text` as a finite decimal number, "1.5" or "1e3"; empty if it is not one.
std::optional<double> parse_decimal(std::string_view text);

/// The finite decimal number without exponent at the start of `text`, such as 16 in "16.0 GT/s"; empty if there is
/// none. `after` becomes the text after it.
std::optional<double> leading_decimal(std::string_view text, std::string_view* after = nullptr);

/// The candidate that `word` probably means: the only one that begins with it, or the nearest one with at most two
/// letters inserted, removed or replaced. Empty if no candidate is.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// "a, b and 4 more": the first `most` names, and the number of the others.
std::string listed(std::span<const std::string> names, std::size_t most);

/// True for a text that begins with `scheme` ("s3://"), in any case.
bool has_scheme(std::string_view text, std::string_view scheme);
bool is_http_url(std::string_view text);
/// True for a text that begins with a scheme and "://".
bool is_url(std::string_view text);
/// A text that may be shown: URLs in it, or patterns of them, without login, and with "?..." instead of a query, which
/// may contain a signature (in s3:// and gs:// a '?' belongs to the key, and stays). A URL ends at a quote, its query
/// also at a blank. A login may contain unencoded slashes, as many secret keys do. Of "pipe:COMMAND" nothing is shown.
std::string without_secrets(std::string_view text);

}  // namespace shardkit
