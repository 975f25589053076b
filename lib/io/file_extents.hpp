#pragma once

#include <cstdint>
#include <span>

#include <linux/fiemap.h>

#include "io/file.hpp"

/// How a file lies on its disk, as far as that decides what reading it measures.
namespace shardkit {

/// Bytes of a file whose reading brings something else from the disk than as many bytes.
struct FileExtents {
  std::uint64_t holes = 0;       ///< not there: reading them touches no disk
  std::uint64_t unwritten = 0;   ///< allocated but never written: the same
  std::uint64_t compressed = 0;  ///< stored in another form; the disk brings fewer

  std::uint64_t sparse() const { return holes + unwritten; }
  FileExtents& operator+=(const FileExtents& other);
};

/// By FIEMAP; where the file system does not answer that, holes by SEEK_HOLE, and compression by the file's flag
/// (FS_COMPR_FL). Zeros where it does not tell at all.
FileExtents file_extents(const File& file);

/// What FIEMAP's rows, in the order of the file, say of the bytes from `offset` to `end`.
FileExtents extents_of(std::span<const fiemap_extent> rows, std::uint64_t offset, std::uint64_t end);

}  // namespace shardkit
