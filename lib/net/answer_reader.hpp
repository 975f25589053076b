#pragma once

#include <cstddef>
#include <exception>
#include <string_view>

#include "net/http.hpp"

namespace shardkit {

/// How much of headers an answer may have, all of it together.
struct HeaderLimits {
  std::size_t fields = 256;
  std::size_t bytes = 64UL << 10U;
};

/// Puts an answer together from its lines and the pieces of its body, and hands both to who asked for it. Throws
/// nothing from header() and body(), whose caller is a C library: what the handlers throw waits for finish().
class AnswerReader {
 public:
  /// All three outlive the reader.
  AnswerReader(const HttpRequest& request, const HeadHandler& on_head, const HeaderLimits& limits)
      : request_(request), on_head_(on_head), limits_(limits) {}

  /// A header line, with its line end: status lines, fields, the empty line behind them, those of a 1xx before and
  /// trailers too. False when the transfer should end here.
  bool header(std::string_view line) noexcept;
  /// The next bytes of the body. False when the transfer should end here.
  bool body(std::string_view bytes) noexcept;

  /// True when the answer is done although the transfer was ended. Rethrows what a handler threw.
  bool refused() const;
  bool has_head() const { return head_done_; }
  const HttpResponse& response() const { return response_; }

 private:
  bool take_header(std::string_view line);
  bool take_head();

  const HttpRequest& request_;
  const HeadHandler& on_head_;
  const HeaderLimits& limits_;
  HttpResponse response_;
  BodyWriter writer_;
  std::exception_ptr failure_;
  std::size_t header_bytes_ = 0;
  bool head_done_ = false;
  bool refused_ = false;
};

}  // namespace shardkit
