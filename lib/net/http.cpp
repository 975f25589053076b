#include "net/http.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::net {

HeadHandler collect_body(std::string& text, std::size_t limit) {
  return [&text, limit](const HttpResponse&) -> BodyWriter {
    text.clear();
    return [&text, limit](Bytes bytes) {
      if (text.size() + bytes.size() > limit) {
        throw Error(ErrorCode::corrupt, fmt::format("an answer is longer than the allowed {} bytes", limit));
      }
      text += as_text(bytes);
    };
  };
}

namespace {

bool same_name(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

}  // namespace

void HttpHeaders::set(const std::string& name, std::string value) {
  remove(name);
  add(name, std::move(value));
}

void HttpHeaders::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_name(field.first, name); });
}

std::optional<std::string_view> HttpHeaders::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_name(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> HttpResponse::content_length() const { return parse_count(headers.get("content-length")); }

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view unit = "bytes ";
  if (!text.starts_with(unit)) return std::nullopt;
  text.remove_prefix(unit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = parse_count(text.substr(0, dash));
  const auto last = parse_count(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total_text = text.substr(slash + 1);
  const auto total = parse_count(total_text);
  if (!first || !last || *first > *last || (!total && total_text != "*")) return std::nullopt;
  if (total && *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, total};
}

std::string range_header(std::uint64_t offset, std::uint64_t length) {
  return fmt::format("bytes={}-{}", offset, offset + length - 1);
}

}  // namespace shardkit::net
