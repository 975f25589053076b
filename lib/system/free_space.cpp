#include "system/free_space.hpp"

#include <cerrno>

#include <sys/statvfs.h>

#include "core/error.hpp"

namespace shardkit {

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) throw system_error(errno, "look at the free space of", folder);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace shardkit
