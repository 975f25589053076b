#pragma once

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

}  // namespace shardkit
