#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace shardkit {

/// A-Z as a-z; every other byte, of UTF-8 too, as it is. Whatever the locale.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

/// Where the first byte stands that is not well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms,
/// nothing above U+10FFFF); npos when all is. A character cut by the text's end is not well-formed.
std::size_t find_invalid_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; }

/// Each byte that is not UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view text);

/// Numbers in files, headers, URLs, /proc and command lines are read by the functions below, those in JSON by
/// json_count(). A number that does not fit is not a number: nothing wraps, is cut or becomes the largest one.

/// Reads a whole number that all of `text` is, without blanks and '+', and with '-' only where Number has a sign. False
/// for anything else and for what Number cannot represent; `value` is as before then.
template <std::integral Number>
bool parse_number(std::string_view text, Number& value, int base = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

/// The same, from 0 to `most`; empty where parse_number() is false.
std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t most = UINT64_MAX);

/// True for decimal digits and nothing else: a whole number, even if it is too large to be read.
bool is_digits(std::string_view text);

/// The finite decimal number that all of `text` is, "1.5" or "1e3"; empty when it is none.
std::optional<double> parse_decimal(std::string_view text);

/// The finite decimal number without exponent that `text` begins with, such as 16 of "16.0 GT/s"; empty when it begins
/// with none. `rest` becomes what follows it.
std::optional<double> leading_decimal(std::string_view text, std::string_view* rest = nullptr);

/// True for a text that begins with `scheme` ("s3://"), in any case.
bool has_scheme(std::string_view text, std::string_view scheme);
bool is_http_url(std::string_view text);
/// True for a text that begins with a scheme and "://".
bool is_url(std::string_view text);
/// A text as it may be shown: URLs in it, or patterns of them, without login, and with "?..." for a query, which may
/// hold a signature (in s3:// a '?' is of the key, and stays). A URL ends at a quote, its query at a blank too.
std::string without_secrets(std::string_view text);

}  // namespace shardkit
