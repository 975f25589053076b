#include "io/page_cache.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit::io {
namespace {

// From linux/magic.h, whose header is not everywhere.
constexpr auto kTmpfs = 0x01021994L;
constexpr auto kRamfs = 0x858458f6L;
constexpr auto kOverlay = 0x794c7630L;
constexpr auto kZfs = 0x2fc12fc1L;  // the name that OpenZFS uses
/// NFS, SMB2, CIFS, FUSE, Ceph, Lustre, GPFS, BeeGFS, AFS, 9p.
constexpr std::array kNetwork{0x6969L,     0xfe534d42L, 0xff534d42L, 0x65735546L, 0x00c36400L,
                              0x0bd00bd0L, 0x47504653L, 0x19830326L, 0x5346414fL, 0x01021997L};

constexpr long kCachestatCall = 451;  // Linux 6.5; glibc has no wrapper. The number is the same on all architectures.

/// The kernel's struct cachestat_range and struct cachestat.
struct CachestatRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< 0: to the end
};
struct Cachestat {
  std::uint64_t cached = 0, dirty = 0, writeback = 0, evicted = 0, recently_evicted = 0;  ///< pages
};

constexpr int kDropAttempts = 200;  // of a millisecond each
/// What a slow disk may need for the read-ahead of many readers that ended.
constexpr std::chrono::seconds kMostForArrivals{30};

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::optional<Cachestat> cachestat(const File& file) {
  const CachestatRange range;
  Cachestat stat;
  if (::syscall(kCachestatCall, file.fd(), &range, &stat, 0) != 0) return std::nullopt;
  return stat;
}

std::optional<std::uint64_t> pages_by_cachestat(const File& file) {
  const auto stat = cachestat(file);
  return stat ? std::optional(stat->cached) : std::nullopt;
}

/// mincore shows every page as resident to those who neither own the file nor may write it.
bool mincore_is_reliable(const File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return false;
  return info.st_uid == ::geteuid() || ::access(fmt::format("/proc/self/fd/{}", file.fd()).c_str(), W_OK) == 0;
}

std::optional<std::uint64_t> pages_by_mincore(const File& file, std::uint64_t size) {
  if (!mincore_is_reliable(file)) return std::nullopt;
  void* const map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (map == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> resident((size + page_size() - 1) / page_size());
  const int result = ::mincore(map, size, resident.data());
  ::munmap(map, size);
  if (result != 0) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1U) != 0; }));
}

[[noreturn]] void refuse_drop(const File& file, std::string_view why) {
  throw Error(ErrorCode::unsupported, At{file.path()}, "'{}' cannot be dropped from the page cache: {}", file.path(),
              why);
}

/// Whether pages are still on their way from or to the disk, such as read-ahead that nobody waits for any more. They
/// are locked until they arrive. cachestat counts them, mincore only those that arrived.
bool has_pages_under_way(const File& file) {
  const auto stat = cachestat(file);
  if (!stat) return false;
  return stat->writeback > 0 || stat->cached > pages_by_mincore(file, file.size()).value_or(stat->cached);
}

/// Waits until none are, or the time is over.
void wait_for_arrivals(const File& file, std::chrono::steady_clock::time_point end) {
  while (has_pages_under_way(file) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

constexpr std::size_t kRowsAtOnce = 256;

/// Rows of FIEMAP from `offset` on; empty at the end. False if the file system does not support it.
bool rows_from(const File& file, std::uint64_t offset, std::vector<fiemap_extent>& rows) {
  alignas(fiemap) std::array<std::byte, sizeof(fiemap) + kRowsAtOnce * sizeof(fiemap_extent)> memory{};
  auto* const request = reinterpret_cast<fiemap*>(memory.data());
  request->fm_start = offset;
  request->fm_length = FIEMAP_MAX_OFFSET - offset;
  request->fm_flags = FIEMAP_FLAG_SYNC;  // dirty data has no place on the disk yet
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
    if (hole < 0 || hole >= size) break;  // an error: this file system does not support it
    const off_t data = ::lseek(file.fd(), hole, SEEK_DATA);
    const off_t end = data < 0 ? size : data;  // ENXIO: nothing but hole follows
    found.holes += static_cast<std::uint64_t>(end - hole);
    at = end;
  }
  int flags = 0;
  const bool has_flags = ::ioctl(file.fd(), FS_IOC_GETFLAGS, &flags) == 0;
  if (has_flags && (static_cast<unsigned>(flags) & FS_COMPR_FL) != 0) found.compressed = file.size() - found.holes;
  return found;
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(const File& file) {
  const std::uint64_t size = file.size();
  if (size == 0) return 0;
  std::optional<std::uint64_t> pages;
  if (file_system_kind(file) != FileSystemKind::overlay) pages = pages_by_cachestat(file);
  if (!pages) pages = pages_by_mincore(file, size);
  if (!pages) return std::nullopt;
  return std::min(*pages * page_size(), size);
}

void drop_from_cache(const File& file) {
  if (lives_in_memory(file)) refuse_drop(file, "its file system keeps files only in memory");
  if (file_system_kind(file) == FileSystemKind::zfs)
    refuse_drop(file, "ZFS has its own cache (ARC), which cannot be dropped per file");
  // DONTNEED passes over dirty pages, so they go to disk first. Some file systems do not sync; the check below sees.
  ::fdatasync(file.fd());
  const auto end = std::chrono::steady_clock::now() + kMostForArrivals;
  for (int attempt = 0; attempt < kDropAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    const auto left = cached_bytes(file);
    if (!left) refuse_drop(file, "this user may not see how much of it is cached (neither owner nor writer)");
    if (*left == 0) return;
    wait_for_arrivals(file, end);
  }
  const bool may_drop = mincore_is_reliable(file);  // the same users
  refuse_drop(
      file,
      fmt::format("{} of its {} bytes stay; {}", cached_bytes(file).value_or(0), file.size(),
                  may_drop
                      ? "another process may map or read it"
                      : "this user neither owns it nor may write it, and some kernels let only those users drop it"));
}

bool warm_cache(const File& file, const std::function<bool()>& go_on) {
  std::vector<std::byte> buffer(256U << 10U);
  std::uint64_t offset = 0;
  while (go_on()) {
    const std::size_t got = file.read_at(offset, buffer);
    if (got == 0) return true;
    offset += got;
  }
  return false;
}

FileSystemKind file_system_kind(const File& file) {
  struct statfs info {};
  if (::fstatfs(file.fd(), &info) != 0) return FileSystemKind::other;
  const auto magic = static_cast<long>(info.f_type);
  if (magic == kTmpfs || magic == kRamfs) return FileSystemKind::memory;
  if (magic == kOverlay) return FileSystemKind::overlay;
  if (magic == kZfs) return FileSystemKind::zfs;
  return std::ranges::count(kNetwork, magic) > 0 ? FileSystemKind::network : FileSystemKind::other;
}

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

}  // namespace shardkit::io
