#include "formats/brace_pattern.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::formats {
namespace {

constexpr int kDeepestBraces = 16;

/// One whole expansion; has the data for error messages.
class Expander {
 public:
  Expander(std::string_view pattern, std::size_t limit) : pattern_(pattern), limit_(limit) {}

  std::vector<std::string> expand(std::string_view text, int depth = 0) const {
    if (depth > kDeepestBraces) fail("nests braces too deep");
    std::vector<std::string> names{""};
    while (true) {
      const std::size_t open = text.find_first_of("{}");
      if (open != std::string_view::npos && text[open] == '}') fail("has a '}' without its '{'");
      append(names, {std::string(text.substr(0, open))});
      if (open == std::string_view::npos) return names;
      const std::size_t close = partner(text, open);
      append(names, group(text.substr(open + 1, close - open - 1), depth));
      text.remove_prefix(close + 1);
    }
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw usage_error("the pattern '{}' {}", pattern_, what); }

  std::size_t partner(std::string_view text, std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == '}' && --depth == 0) return i;
    }
    fail("has a '{' without its '}'");
  }

  /// The text between two braces.
  std::vector<std::string> group(std::string_view inside, int depth) const {
    std::vector<std::string_view> parts = split_at_commas(inside);
    std::vector<std::string> names;
    if (parts.size() > 1) {
      for (const std::string_view part : parts) {
        for (std::string& name : expand(part, depth + 1)) names.push_back(std::move(name));
        check_count(names.size(), 1);
      }
      return names;
    }
    if (range(inside, names)) return names;
    for (const std::string& name : expand(inside, depth + 1)) names.push_back("{" + name + "}");
    return names;
  }

  static std::vector<std::string_view> split_at_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == '}') --depth;
      if (text[i] != ',' || depth > 0) continue;
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
  }

  /// Far from the ends of the type, so that counting cannot overflow.
  static std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    return text.size() <= 15 && parse_number(text, value) ? std::optional(value) : std::nullopt;
  }

  static bool padded(std::string_view text) { return text.size() > 1 && text.front() == '0'; }

  /// "first..last" of whole numbers; false if `inside` is something else.
  bool range(std::string_view inside, std::vector<std::string>& names) const {
    const std::size_t dots = inside.find("..");
    if (dots == std::string_view::npos) return false;
    const std::string_view first_text = inside.substr(0, dots);
    const std::string_view last_text = inside.substr(dots + 2);
    const auto first = number(first_text);
    const auto last = number(last_text);
    if (!first || !last) return false;
    const std::size_t width =
        padded(first_text) || padded(last_text) ? std::max(first_text.size(), last_text.size()) : 0;
    const std::int64_t steps = std::abs(*last - *first);
    check_count(static_cast<std::size_t>(steps) + 1, 1);
    for (std::int64_t i = 0; i <= steps; ++i) {
      names.push_back(fmt::format("{:0{}}", *first + (*last < *first ? -i : i), width));
    }
    return true;
  }

  /// Puts each of `tails` behind each of `names`, the tails running fastest.
  void append(std::vector<std::string>& names, const std::vector<std::string>& tails) const {
    check_count(names.size(), tails.size());
    std::vector<std::string> longer;
    longer.reserve(names.size() * tails.size());
    for (const std::string& name : names) {
      for (const std::string& tail : tails) longer.push_back(name + tail);
    }
    names = std::move(longer);
  }

  void check_count(std::size_t a, std::size_t b) const {
    if (a > limit_ / std::max<std::size_t>(b, 1)) fail(fmt::format("stands for more than {} names", limit_));
  }

  std::string_view pattern_;
  std::size_t limit_;
};

/// The position of a number in a name.
struct NumberSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const NumberSpan&) const = default;
};

/// Whether `next` counts on from `name`: both are equal except for one number of equal width, which is greater by one.
std::optional<NumberSpan> counted_number(std::string_view name, std::string_view next) {
  if (name.size() != next.size()) return std::nullopt;
  const auto differ = std::mismatch(name.begin(), name.end(), next.begin()).first;
  if (differ == name.end()) return std::nullopt;
  NumberSpan span;
  span.begin = span.end = static_cast<std::size_t>(differ - name.begin());
  while (span.begin > 0 && is_digit(name[span.begin - 1])) --span.begin;
  while (span.end < name.size() && is_digit(name[span.end]) && is_digit(next[span.end])) ++span.end;
  if (span.end < name.size() && (is_digit(name[span.end]) || is_digit(next[span.end]))) return std::nullopt;
  if (name.substr(span.end) != next.substr(span.end)) return std::nullopt;
  // Adds one in decimal, so that numbers of any length count.
  std::string up(name.substr(span.begin, span.end - span.begin));
  std::size_t digit = up.size();
  while (digit > 0 && up[digit - 1] == '9') up[--digit] = '0';
  if (digit == 0) return std::nullopt;
  ++up[digit - 1];
  if (up != next.substr(span.begin, span.end - span.begin)) return std::nullopt;
  return span;
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern, std::size_t limit) {
  return Expander(pattern, limit).expand(pattern);
}

std::vector<std::string> collapse_names(const std::vector<std::string>& names) {
  std::vector<std::string> patterns;
  for (std::size_t first = 0; first < names.size();) {
    std::size_t last = first;
    std::optional<NumberSpan> span;
    while (last + 1 < names.size()) {
      const auto counted = counted_number(names[last], names[last + 1]);
      if (!counted || (span && *span != *counted)) break;
      span = counted;
      ++last;
    }
    const std::string& name = names[first];
    if (span) {
      const std::size_t width = span->end - span->begin;
      patterns.push_back(fmt::format("{}{{{}..{}}}{}", name.substr(0, span->begin), name.substr(span->begin, width),
                                     names[last].substr(span->begin, width), name.substr(span->end)));
    } else {
      patterns.push_back(name);
    }
    first = last + 1;
  }
  return patterns;
}

}  // namespace shardkit::formats
