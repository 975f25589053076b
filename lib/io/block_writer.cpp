#include "io/block_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shardkit::io {
namespace {

constexpr std::size_t kPage = AlignedBuffer::kAlignment;

bool is_aligned(Bytes bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage == 0; }

}  // namespace

void BlockWriter::begin(std::uint64_t offset) {
  gathered_ = 0;
  stored_ = offset;
}

void BlockWriter::write(Bytes bytes) {
  while (gathered_ == 0 && bytes.size() >= block_bytes_ && is_aligned(bytes)) {
    store(bytes.first(block_bytes_));
    bytes = bytes.subspan(block_bytes_);
  }
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), block_bytes_ - gathered_);
    std::memcpy(block_.get(block_bytes_).data() + gathered_, bytes.data(), some);
    gathered_ += some;
    bytes = bytes.subspan(some);
    if (gathered_ == block_bytes_) flush();
  }
}

void BlockWriter::flush() {
  const std::size_t bytes = std::exchange(gathered_, 0);
  if (bytes > 0) store(block_.get(block_bytes_).first(bytes));
}

void BlockWriter::flush_pages() {
  const std::size_t pages = gathered_ / kPage * kPage;
  if (pages == 0) return;
  const MutableBytes block = block_.get(block_bytes_);
  store(block.first(pages));
  gathered_ -= pages;
  std::memmove(block.data(), block.data() + pages, gathered_);
}

void BlockWriter::store(Bytes block) {
  store_(stored_, block);
  stored_ += block.size();
}

}  // namespace shardkit::io
