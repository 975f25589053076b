#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

/// The finite decimal number that all of `text` is, "1.5" or "1e3"; empty when it is none.
std::optional<double> parse_decimal(std::string_view text);

/// True for a text that begins with `scheme` ("s3://"), in any case.
bool has_scheme(std::string_view text, std::string_view scheme);
bool is_http_url(std::string_view text);
/// True for a text that begins with a scheme and "://".
bool is_url(std::string_view text);
/// A text as it may be shown: URLs in it, or patterns of them, without login, and with "?..." for a query, which may
/// hold a signature (in s3:// a '?' is of the key, and stays). A URL ends at a quote, its query at a blank too.
std::string without_secrets(std::string_view text);

}  // namespace shardkit
