#include "formats/line_reader.hpp"

#include <algorithm>
#include <span>

namespace shardkit {
namespace {

constexpr std::size_t kBlock = 256U * 1024U;
constexpr std::size_t kLongestLine = 1024U * 1024U;

}  // namespace

LineReader::LineReader(ByteSource& source, std::uint64_t begin, std::uint64_t end)
    : source_(source), read_offset_(begin), end_(end), next_offset_(begin) {}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = position_;
  while (true) {
    const std::size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos) {
      line = std::string_view(buffer_).substr(position_, newline - position_);
      position_ = newline + 1;
      line_offset_ = next_offset_;
      next_offset_ += line.size() + 1;
      return true;
    }
    const std::size_t pending = buffer_.size() - position_;
    if (pending > kLongestLine || !fill()) return false;
    searched = pending;
  }
}

bool LineReader::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t kept = buffer_.size();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end_ - read_offset_));
  buffer_.resize(kept + wanted);
  const std::size_t got = source_.read_at(read_offset_, std::as_writable_bytes(std::span(buffer_)).subspan(kept));
  buffer_.resize(kept + got);
  read_offset_ += got;
  return got > 0;
}

}  // namespace shardkit
