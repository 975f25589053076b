#include "net/http.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "system/probe.hpp"

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

namespace {

/// Of "HTTP/1.1 200 OK"; 0 if it is not a status line.
int status_of(std::string_view line) {
  int status = 0;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || !parse_number(line.substr(blank + 1, 3), status)) return 0;
  return status >= 100 ? status : 0;
}

}  // namespace

bool ResponseReader::header(std::string_view line) noexcept {
  try {
    return take_header(line);
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool ResponseReader::body(std::string_view bytes) noexcept {
  try {
    if (writer_) writer_(as_bytes(bytes));
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool ResponseReader::refused() const {
  if (failure_) std::rethrow_exception(failure_);
  return refused_;
}

bool ResponseReader::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > limits_.bytes || response_.headers.size() >= limits_.fields) {
    throw Error(ErrorCode::corrupt, At{request_.url.display()}, "'{}': the server sends too many headers",
                request_.url.display());
  }
  if (head_done_) return true;  // behind the body of a chunked answer
  if (line.starts_with("HTTP/")) {
    response_ = {status_of(line), {}};  // a 1xx may have come before
    return true;
  }
  if (system::trimmed(line).empty()) return response_.status < 200 || take_head();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.add(std::string(system::trimmed(line.substr(0, colon))),
                        std::string(system::trimmed(line.substr(colon + 1))));
  return true;
}

/// False when the caller refuses a body that is still to come.
bool ResponseReader::take_head() {
  head_done_ = true;
  writer_ = on_head_(response_);
  const bool no_body = request_.method == "HEAD" || response_.status == 204 || response_.status == 304 ||
                       response_.content_length() == 0;
  refused_ = !writer_ && !no_body;
  return !refused_;
}

}  // namespace shardkit::net
