#include "io/read_file.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/aligned_buffer.hpp"

namespace shardkit {

ReadFile::ReadFile(File file, std::uint32_t step) : file_(std::move(file)), size_(file_.size()), step_(step) {}

ReadWindow ReadFile::window(std::uint64_t offset, std::size_t length) const {
  if (offset > size_ || length > size_ - offset) {
    throw Error(ErrorCode::io,
                fmt::format("'{}' has {} bytes, but was longer when it was listed: it changes while it is read",
                            file_.path(), size_),
                file_.path(), size_);
  }
  const std::uint64_t begin = offset / step_ * step_;
  const std::uint64_t end = (offset + length + step_ - 1) / step_ * step_;
  return {begin, static_cast<std::size_t>(end - begin), static_cast<std::size_t>(offset - begin), length};
}

bool ReadFile::wants_more(const ReadWindow& window, std::size_t done, std::size_t got) const {
  if (done >= window.skip + window.wanted) return false;
  if (got == 0 || done % step_ != 0) report_shrunk(window.begin + done);
  return true;
}

void ReadFile::report_failure(int error_number, std::uint64_t offset) const {
  const Error error = system_error(error_number, "read", file_.path());
  throw Error(error.code(), fmt::format("{} at byte {}", error.what(), offset), file_.path(), offset);
}

void ReadFile::report_shrunk(std::uint64_t offset) const {
  throw Error(ErrorCode::io,
              fmt::format("'{}' ends at byte {}, but had {} bytes when it was opened: it changes while it is read",
                          file_.path(), offset, size_),
              file_.path(), offset);
}

std::size_t window_bytes(std::size_t most) {
  constexpr std::size_t kStep = AlignedBuffer::kAlignment;
  return (most + kStep - 1) / kStep * kStep + kStep;
}

}  // namespace shardkit
