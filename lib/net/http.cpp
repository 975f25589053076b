#include "net/http.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {

HeadHandler collect_body(std::string& text, std::size_t limit) {
  return [&text, limit](const HttpResponse&) -> BodyWriter {
    text.clear();
    return [&text, limit](Bytes bytes) {
      if (text.size() + bytes.size() > limit) {
        throw Error(ErrorCode::corrupt, fmt::format("an answer is longer than the {} bytes that it may have", limit));
      }
      text += as_text(bytes);
    };
  };
}

}  // namespace shardkit
