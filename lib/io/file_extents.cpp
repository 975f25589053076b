#include "io/file_extents.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace shardkit {
namespace {

constexpr std::size_t kRowsAtOnce = 256;

/// Rows of FIEMAP from `offset` on; empty at the end. False where the file system does not tell.
bool rows_from(const File& file, std::uint64_t offset, std::vector<fiemap_extent>& rows) {
  alignas(fiemap) std::array<std::byte, sizeof(fiemap) + kRowsAtOnce * sizeof(fiemap_extent)> memory{};
  auto* const request = reinterpret_cast<fiemap*>(memory.data());
  request->fm_start = offset;
  request->fm_length = FIEMAP_MAX_OFFSET - offset;
  request->fm_flags = FIEMAP_FLAG_SYNC;  // what is dirty has no place on the disk yet
  request->fm_extent_count = kRowsAtOnce;
  if (::ioctl(file.fd(), FS_IOC_FIEMAP, request) != 0) return false;
  const auto* const first = reinterpret_cast<const fiemap_extent*>(memory.data() + sizeof(fiemap));
  rows.assign(first, first + std::min<std::size_t>(request->fm_mapped_extents, kRowsAtOnce));
  return true;
}

/// Rows may begin in front of `offset` and end behind `end`.
std::uint64_t within(const fiemap_extent& row, std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t row_end = row.fe_logical + row.fe_length;
  const std::uint64_t from = std::max<std::uint64_t>(row.fe_logical, offset);
  const std::uint64_t to = std::min(row_end, end);
  return to > from ? to - from : 0;
}

FileExtents by_seeking(const File& file) {
  FileExtents found;
  const auto size = static_cast<off_t>(file.size());
  for (off_t at = 0; at < size;) {
    const off_t hole = ::lseek(file.fd(), at, SEEK_HOLE);
    if (hole < 0 || hole >= size) break;  // an error: this file system does not tell
    const off_t data = ::lseek(file.fd(), hole, SEEK_DATA);
    const off_t end = data < 0 ? size : data;  // ENXIO: nothing but hole follows
    found.holes += static_cast<std::uint64_t>(end - hole);
    at = end;
  }
  int flags = 0;
  const bool told = ::ioctl(file.fd(), FS_IOC_GETFLAGS, &flags) == 0;
  if (told && (static_cast<unsigned>(flags) & FS_COMPR_FL) != 0) found.compressed = file.size() - found.holes;
  return found;
}

}  // namespace

FileExtents& FileExtents::operator+=(const FileExtents& other) {
  holes += other.holes;
  unwritten += other.unwritten;
  compressed += other.compressed;
  return *this;
}

FileExtents extents_of(std::span<const fiemap_extent> rows, std::uint64_t offset, std::uint64_t end) {
  FileExtents found;
  std::uint64_t at = offset;
  for (const fiemap_extent& row : rows) {
    const std::uint64_t begin = std::clamp<std::uint64_t>(row.fe_logical, at, std::max(at, end));
    found.holes += begin - at;
    const std::uint64_t bytes = within(row, begin, end);
    if ((row.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) found.unwritten += bytes;
    if ((row.fe_flags & FIEMAP_EXTENT_ENCODED) != 0) found.compressed += bytes;
    at = begin + bytes;
  }
  return found;
}

FileExtents file_extents(const File& file) {
  const std::uint64_t size = file.size();
  FileExtents found;
  std::vector<fiemap_extent> rows;
  for (std::uint64_t at = 0; at < size;) {
    if (!rows_from(file, at, rows)) return by_seeking(file);
    if (rows.empty()) {
      found.holes += size - at;
      break;
    }
    const std::uint64_t end = std::max<std::uint64_t>(rows.back().fe_logical + rows.back().fe_length, at + 1);
    found += extents_of(rows, at, std::min(end, size));
    at = end;
  }
  return found;
}

}  // namespace shardkit
