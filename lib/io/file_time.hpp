#pragma once

#include <cstdint>

#include <sys/stat.h>

namespace shardkit {

/// When a file was last modified, in nanoseconds since 1970, as plans keep it.
inline std::int64_t mtime_ns(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace shardkit
