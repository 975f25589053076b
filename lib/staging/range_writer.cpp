#include "staging/range_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shardkit {
namespace {

bool is_aligned(Bytes bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()) % AlignedBuffer::kAlignment == 0; }

}  // namespace

void RangeWriter::begin(FileCopy& copy, std::uint64_t offset) {
  copy_ = &copy;
  gathered_ = 0;
  stored_ = offset;
}

void RangeWriter::take(Bytes bytes) {
  // Blocks of a file come whole and need no copy.
  while (gathered_ == 0 && bytes.size() >= kBlock && is_aligned(bytes)) {
    store(bytes.first(kBlock));
    bytes = bytes.subspan(kBlock);
  }
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kBlock - gathered_);
    std::memcpy(buffer_.get(kBlock).data() + gathered_, bytes.data(), some);
    gathered_ += some;
    bytes = bytes.subspan(some);
    if (gathered_ == kBlock) flush();
  }
}

void RangeWriter::flush() {
  const std::size_t bytes = std::exchange(gathered_, 0);
  if (bytes > 0) store(buffer_.get(kBlock).first(bytes));
}

void RangeWriter::store(Bytes bytes) {
  copy_->write(stored_, bytes);
  stored_ += bytes.size();
}

}  // namespace shardkit
