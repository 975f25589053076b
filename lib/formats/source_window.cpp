#include "formats/source_window.hpp"

#include <algorithm>
#include <span>

namespace shardkit {

bool SourceWindow::grow() {
  constexpr std::size_t kBlock = 256U * 1024U;
  buffer_.erase(0, passed_);
  passed_ = 0;
  const std::size_t kept = buffer_.size();
  const std::uint64_t left = source_.size() - std::min(source_.size(), offset_ + kept);
  buffer_.resize(kept + static_cast<std::size_t>(std::min<std::uint64_t>(std::max(kBlock, kept), left)));
  const std::size_t got = source_.read_at(offset_ + kept, std::as_writable_bytes(std::span(buffer_)).subspan(kept));
  buffer_.resize(kept + got);
  return got > 0;
}

void SourceWindow::pass(std::size_t count) {
  passed_ += count;
  offset_ += count;
}

}  // namespace shardkit
