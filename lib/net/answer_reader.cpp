#include "net/answer_reader.hpp"

#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Of "HTTP/1.1 200 OK"; 0 for what is no status line.
int status_of(std::string_view line) {
  int status = 0;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.size() < blank + 4) return 0;
  const char* digits = line.data() + blank + 1;
  const auto [end, error] = std::from_chars(digits, digits + 3, status);
  return error == std::errc() && end == digits + 3 && status >= 100 ? status : 0;
}

}  // namespace

bool AnswerReader::header(std::string_view line) noexcept {
  try {
    return take_header(line);
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool AnswerReader::body(std::string_view bytes) noexcept {
  try {
    if (writer_) writer_(as_bytes(bytes));
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool AnswerReader::refused() const {
  if (failure_) std::rethrow_exception(failure_);
  return refused_;
}

bool AnswerReader::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > limits_.bytes || response_.headers.size() >= limits_.fields) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}': the server sends headers without end", request_.url.display()),
                request_.url.display());
  }
  if (head_done_) return true;  // behind the body of a chunked answer
  if (line.starts_with("HTTP/")) {
    response_ = {status_of(line), {}};  // a 1xx may have come before
    return true;
  }
  if (trimmed(line).empty()) return response_.status < 200 || take_head();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.add(std::string(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1))));
  return true;
}

/// False when the caller refuses a body that is still to come.
bool AnswerReader::take_head() {
  head_done_ = true;
  writer_ = on_head_(response_);
  const bool no_body = request_.method == "HEAD" || response_.status == 204 || response_.status == 304 ||
                       response_.content_length() == 0;
  refused_ = !writer_ && !no_body;
  return !refused_;
}

}  // namespace shardkit
