#include "io/direct_opener.hpp"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/aligned_buffer.hpp"
#include "io/page_cache.hpp"

namespace shardkit {
namespace {

[[noreturn]] void refuse_direct(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("'{}' cannot be read with O_DIRECT: {}", path, why), path);
}

/// Asks by reading: file systems older than STATX_DIOALIGN answer EINVAL to what does not suit them.
std::uint32_t probe_step(const File& file) {
  AlignedBuffer buffer;
  for (std::uint32_t step = 512; step <= AlignedBuffer::kAlignment; step *= 2) {
    if (::pread(file.fd(), buffer.get(step).data(), step, step) >= 0) return step;
    if (errno != EINVAL) throw system_error(errno, "read", file.path());
  }
  refuse_direct(file.path(), "no alignment up to 4096 bytes is accepted");
}

}  // namespace

std::shared_ptr<const ReadFile> DirectOpener::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (fd < 0 && errno == EINVAL) refuse_direct(path, "its file system does not offer it");
  if (fd < 0) throw system_error(errno, "open", path);
  File file(fd, path);
  const std::uint32_t step = step_of(file);
  return std::make_shared<ReadFile>(std::move(file), step);
}

std::uint32_t DirectOpener::step_of(const File& file) {
  if (lives_in_memory(file)) refuse_direct(file.path(), "its file system keeps files in memory and only pretends");
  if (lies_on_zfs(file)) refuse_direct(file.path(), "ZFS accepts the flag and may read through its own cache (ARC)");
  struct statx info {};
  const bool asked = ::statx(file.fd(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0;
  const bool told = asked && (info.stx_mask & STATX_DIOALIGN) != 0;
  if (told && info.stx_dio_offset_align == 0) refuse_direct(file.path(), "its file system does not offer it");
  if (told && info.stx_dio_mem_align > AlignedBuffer::kAlignment) {
    refuse_direct(file.path(), "it wants memory aligned above 4096");
  }
  if (told) return info.stx_dio_offset_align;
  if (lies_on_overlay(file)) {
    refuse_direct(file.path(), "overlay accepts the flag without saying whether the file system below it obeys");
  }
  return probed_step(file);
}

/// Probing reads, so that each device is asked once: who opens a file per sample would pay for it each time.
std::uint32_t DirectOpener::probed_step(const File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) throw system_error(errno, "stat", file.path());
  const std::scoped_lock lock(mutex_);
  const auto known = by_device_.find(info.st_dev);
  if (known != by_device_.end()) return known->second;
  const std::uint32_t step = probe_step(file);
  // A read behind the end of a small file may succeed whatever its alignment: that says nothing of other files.
  if (static_cast<std::uint64_t>(info.st_size) > AlignedBuffer::kAlignment) by_device_[info.st_dev] = step;
  return step;
}

}  // namespace shardkit
