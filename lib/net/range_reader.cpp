#include "net/range_reader.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "net/object_version.hpp"

namespace shardkit {

HttpHeaders RangeReader::headers() const {
  HttpHeaders headers{{"Range", range_header(next_, end_ - next_)}};
  pin_version(headers, object_.version);
  return headers;
}

BodyWriter RangeReader::take_head(const HttpResponse& head, const std::string& url) {
  if (head.status != 206) {
    outcome_ = Fetched::no_ranges;
    return {};
  }
  const std::string text(head.headers.get("content-range"));
  const auto range = parse_content_range(text);
  if (!range || range->first != next_ || range->last != end_ - 1) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format("'{}': the server was asked for bytes {}-{} and answers with '{}'", url, next_, end_ - 1, text),
        url, next_);
  }
  if (is_other_version(head, *range)) {
    outcome_ = Fetched::changed;
    return {};
  }
  return [this, url](Bytes bytes) { take(bytes, url); };
}

bool RangeReader::is_other_version(const HttpResponse& head, const ContentRange& range) const {
  const std::string version = object_version(head.headers);
  return (range.total && *range.total != object_.size) ||
         (!object_.version.empty() && !version.empty() && version != object_.version);
}

void RangeReader::take(Bytes bytes, const std::string& url) {
  if (bytes.size() > end_ - next_) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}': the server sends more bytes than it was asked for", url), url,
                end_);
  }
  write_(bytes);
  next_ += bytes.size();
}

}  // namespace shardkit
