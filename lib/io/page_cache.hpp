#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <linux/fiemap.h>

#include "io/file.hpp"

/// Parts of a file in the page cache, and how to change that. How a file is stored on its disk, as far as it matters
/// for measuring reads.
namespace shardkit::io {

/// Bytes of `file` in the page cache, in whole pages but at most its size. With cachestat(2); if that is missing,
/// refused or wrong (overlay) with mincore(2), which is correct only for users who own the file or may write it. Empty
/// if neither is reliable.
std::optional<std::uint64_t> cached_bytes(const File& file);

/// Writes dirty pages, waits for pages that are being read, and drops all of `file` from the page cache, then checks
/// that it worked. Throws Error{unsupported} with the reason if it did not or if that is unknown: tmpfs, pages mapped
/// by another process, or a state that this user may not see.
void drop_from_cache(const File& file);

/// Reads `file` into the page cache, a quarter of a MiB at a time, while `go_on` returns true before each. True if all
/// of it was read.
bool warm_cache(
    const File& file, const std::function<bool()>& go_on = [] { return true; });

/// Kinds of file systems whose page cache is special.
enum class FileSystemKind {
  other,
  memory,   ///< tmpfs and ramfs: the page cache is the disk
  network,  ///< NFS, SMB, Ceph, Lustre, FUSE and others send bytes elsewhere: a page cache saves more than it costs
  overlay,  ///< passes reads to an unknown file system
  zfs,      ///< its own cache (ARC) cannot be inspected or emptied from outside
};
FileSystemKind file_system_kind(const File& file);
inline bool lives_in_memory(const File& file) { return file_system_kind(file) == FileSystemKind::memory; }

/// Bytes of a file for which the disk does not read as many bytes.
struct FileExtents {
  std::uint64_t holes = 0;       ///< holes: reading them does not use the disk
  std::uint64_t unwritten = 0;   ///< allocated but never written: the same
  std::uint64_t compressed = 0;  ///< stored in another form; the disk reads fewer

  std::uint64_t sparse() const { return holes + unwritten; }
  FileExtents& operator+=(const FileExtents& other);
};

/// With FIEMAP; if the file system does not support it, holes with SEEK_HOLE, and compression from the file's flag
/// (FS_COMPR_FL). Zeros if it reports nothing.
FileExtents file_extents(const File& file);

/// What FIEMAP's rows, in the order of the file, mean for the bytes from `offset` to `end`.
FileExtents extents_of(std::span<const fiemap_extent> rows, std::uint64_t offset, std::uint64_t end);

}  // namespace shardkit::io
