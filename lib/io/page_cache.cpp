#include "io/page_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

// From linux/magic.h, whose header is not everywhere.
constexpr auto kTmpfs = 0x01021994L;
constexpr auto kRamfs = 0x858458f6L;
constexpr auto kOverlay = 0x794c7630L;
constexpr auto kZfs = 0x2fc12fc1L;  // as OpenZFS says it

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

long file_system_magic(const File& file) {
  struct statfs info {};
  if (::fstatfs(file.fd(), &info) != 0) return 0;
  return static_cast<long>(info.f_type);
}

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::optional<std::uint64_t> pages_by_cachestat(const File& file) {
  const CachestatRange range;
  Cachestat stat;
  if (::syscall(kCachestatCall, file.fd(), &range, &stat, 0) != 0) return std::nullopt;
  return stat.cached;
}

/// mincore shows every page as resident to those who neither own the file nor may write it.
bool mincore_tells_the_truth(const File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return false;
  return info.st_uid == ::geteuid() || ::access(fmt::format("/proc/self/fd/{}", file.fd()).c_str(), W_OK) == 0;
}

std::optional<std::uint64_t> pages_by_mincore(const File& file, std::uint64_t size) {
  if (!mincore_tells_the_truth(file)) return std::nullopt;
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
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' cannot be dropped from the page cache: {}{}", file.path(), why, kNotDroppedRemedy),
              file.path());
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(const File& file) {
  const std::uint64_t size = file.size();
  if (size == 0) return 0;
  std::optional<std::uint64_t> pages;
  if (!lies_on_overlay(file)) pages = pages_by_cachestat(file);
  if (!pages) pages = pages_by_mincore(file, size);
  if (!pages) return std::nullopt;
  return std::min(*pages * page_size(), size);
}

void drop_from_cache(const File& file) {
  if (lives_in_memory(file)) refuse_drop(file, "its file system keeps files in memory alone");
  if (lies_on_zfs(file)) refuse_drop(file, "ZFS keeps a cache of its own (ARC), which nobody can drop by file");
  // DONTNEED passes over dirty pages, so they go to disk first. Some file systems do not sync; the check below sees.
  ::fdatasync(file.fd());
  for (int attempt = 0; attempt < kDropAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    const auto left = cached_bytes(file);
    if (!left) refuse_drop(file, "this user may not see what is cached of it (neither owner nor writer)");
    if (*left == 0) return;
  }
  const bool may_drop = mincore_tells_the_truth(file);  // the same users
  refuse_drop(file, fmt::format("{} of its {} bytes stay; {}", cached_bytes(file).value_or(0), file.size(),
                                may_drop ? "another process may map or read it"
                                         : "this user neither owns nor may write it, and some kernels let only those "
                                           "who do drop it"));
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

bool lives_in_memory(const File& file) {
  const long magic = file_system_magic(file);
  return magic == kTmpfs || magic == kRamfs;
}

bool lies_on_overlay(const File& file) { return file_system_magic(file) == kOverlay; }

bool lies_on_zfs(const File& file) { return file_system_magic(file) == kZfs; }

}  // namespace shardkit
