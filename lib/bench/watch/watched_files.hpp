#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace shardkit {

/// What of some files lies in the page cache.
struct CachedShare {
  std::uint64_t bytes = 0;
  std::uint64_t cached_bytes = 0;
};

/// Some files of the watched data, open for as long as they are watched, so that a look at them costs neither lookups
/// nor requests to a server: at most 64 and 4 GiB, taken evenly from the first 4096 entries that a walk meets. A look
/// visits each cached page of them. One thread at a time.
class WatchedFiles {
 public:
  /// A file, or a folder with files at any depth. What cannot be opened or is larger than all may be together is left
  /// out; nothing throws.
  explicit WatchedFiles(const std::string& path);
  /// None.
  WatchedFiles() = default;

  std::size_t count() const { return files_.size(); }
  /// Empty without files, and where the system does not tell this user (io/page_cache.hpp).
  std::optional<CachedShare> look() const;

 private:
  std::vector<File> files_;
};

}  // namespace shardkit
