#include "formats/tar_scanner.hpp"

#include <algorithm>
#include <utility>

namespace shardkit::formats {
namespace {

// Two small members with PAX headers fit; a page or two more cost nothing when a read is done at all.
constexpr std::size_t kReadAhead = 8U * 1024U;
constexpr std::size_t kContentPiece = 256U * 1024U;

}  // namespace

TarScanner::TarScanner(ByteSource& source, OnFinding on_finding, AfterEnd after_end)
    : source_(source), on_finding_(std::move(on_finding)), parser_(source.size(), after_end), buffer_(kReadAhead) {}

bool TarScanner::next(TarEntry& entry) {
  while (true) {
    switch (parser_.next()) {
      case TarParser::Step::read:
        parser_.supply(read(parser_.wanted()));
        break;
      case TarParser::Step::entry:
        entry = std::move(parser_.entry());
        return true;
      case TarParser::Step::finding:
        on_finding_(parser_.finding());
        break;
      case TarParser::Step::end:
        return false;
    }
  }
}

Bytes TarScanner::read(const TarParser::Range& range) {
  const bool inside = range.offset >= buffer_offset_ && range.offset + range.length <= buffer_offset_ + buffered_;
  if (!inside) {
    if (buffer_.size() < range.length) buffer_.resize(range.length);
    buffer_offset_ = range.offset;
    buffered_ = source_.read_at(range.offset, buffer_);
  }
  const std::size_t begin = range.offset - buffer_offset_;
  return Bytes(buffer_).subspan(begin, std::min(range.length, buffered_ - begin));
}

void scan_tar(ByteSource& source, TarHandler& handler, Context& context) {
  TarScanner scanner(source, [&](const TarFinding& finding) { handler.finding(finding); });
  std::vector<std::byte> buffer;
  TarEntry entry;
  while (scanner.next(entry)) {
    context.throw_if_stopped();
    if (!handler.entry(entry)) continue;
    std::uint64_t done = 0;
    while (done < entry.size) {
      buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kContentPiece, entry.size - done)));
      const std::size_t got = source.read_at(entry.data_offset + done, buffer);
      if (got == 0) break;
      handler.content(Bytes(buffer).first(got));
      done += got;
    }
    if (done == entry.size) handler.content_end();
  }
  context.progress().bytes.fetch_add(source.size(), std::memory_order_relaxed);
}

std::uint64_t read_tar(ByteSource& source, TarHandler& handler, const std::function<void(Bytes)>& hash,
                       Context& context) {
  TarFeed feed(handler, source.size());
  context.throw_if_stopped();
  const std::uint64_t bytes_read = source.stream_all([&](Bytes bytes) {
    hash(bytes);
    feed.feed(bytes);
    context.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    context.throw_if_stopped();
  });
  feed.finish();
  return bytes_read;
}

void TarFeed::feed(Bytes bytes) {
  while (true) {
    switch (parser_.next()) {
      case TarParser::Step::entry: {
        const TarEntry& entry = parser_.entry();
        content_wanted_ = handler_.entry(entry);
        content_begin_ = entry.data_offset;
        content_end_ = entry.data_offset + entry.size;
        break;
      }
      case TarParser::Step::finding:
        handler_.finding(parser_.finding());
        break;
      case TarParser::Step::read:
        deliver_content(bytes);
        if (supply_from(bytes)) break;
        offset_ += bytes.size();
        return;
      case TarParser::Step::end:
        deliver_content(bytes);
        offset_ += bytes.size();
        return;
    }
  }
}

/// Passes the part of the current member in `bytes` to the handler. Its content always ends before the next wanted
/// range.
void TarFeed::deliver_content(Bytes bytes) {
  if (!content_wanted_) return;
  const std::uint64_t end = std::min(content_end_, offset_ + bytes.size());
  if (content_begin_ < end) {
    handler_.content(bytes.subspan(content_begin_ - offset_, end - content_begin_));
    content_begin_ = end;
  }
  if (content_begin_ != content_end_) return;
  content_wanted_ = false;
  handler_.content_end();
}

/// Delivers the wanted range if `bytes` complete it; otherwise keeps the part of it in them.
bool TarFeed::supply_from(Bytes bytes) {
  const TarParser::Range range = parser_.wanted();
  const std::uint64_t begin = range.offset + carried_.size();
  if (begin >= offset_ + bytes.size()) return false;
  const Bytes part = bytes.subspan(begin - offset_);
  const std::size_t missing = range.length - carried_.size();
  if (carried_.empty() && part.size() >= missing) {
    parser_.supply(part.first(missing));
    return true;
  }
  const Bytes kept = part.first(std::min(missing, part.size()));
  carried_.insert(carried_.end(), kept.begin(), kept.end());
  if (kept.size() < missing) return false;
  parser_.supply(carried_);
  carried_.clear();
  return true;
}

void TarFeed::finish() {
  feed({});
  while (parser_.next() == TarParser::Step::read) {
    parser_.supply(carried_);
    carried_.clear();
    feed({});
  }
}

}  // namespace shardkit::formats
