#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <linux/fiemap.h>

#include "io/file.hpp"

/// What of a file lies in the page cache, and how to change that.
///
/// How a file lies on its disk, as far as that decides what reading it measures.
namespace shardkit::io {

/// Bytes of `file` in the page cache, in whole pages but never more than its size. By cachestat(2); where that is
/// missing, refused or wrong (overlay) by mincore(2), which tells the truth only to those who own the file or may write
/// it. Empty when neither can be believed.
std::optional<std::uint64_t> cached_bytes(const File& file);

/// What the error of drop_from_cache() ends with: for callers that have a better way to leave out.
inline constexpr std::string_view kNotDroppedRemedy = "; use --cache any or --cache warm";

/// Writes what is dirty and drops all of `file` from the page cache, then looks whether that worked. Throws
/// Error{unsupported} that says why when it did not or when that cannot be known: tmpfs, pages that another process
/// maps, residency that this user may not see.
void drop_from_cache(const File& file);

/// Reads `file` into the page cache, a quarter of a MiB at a time, for as long as `go_on` says so before each. True
/// when all of it was read.
bool warm_cache(
    const File& file, const std::function<bool()>& go_on = [] { return true; });

/// True for tmpfs and ramfs, where the page cache is the disk.
bool lives_in_memory(const File& file);

/// True for overlay, which hands reads to a file system that it does not name.
bool lies_on_overlay(const File& file);

/// True for ZFS, whose own cache (ARC) nobody outside of it can look into or empty.
bool lies_on_zfs(const File& file);

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

}  // namespace shardkit::io
