#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace shardkit::bench {

/// Some files of the watched data, kept open while watched, so that sampling needs neither lookups nor requests to a
/// server: at most 64 files and 4 GiB, evenly distributed over the first 4096 entries found. A sample visits each
/// cached page of them. One thread at a time.
class WatchedFiles {
 public:
  /// A file, or a folder with files at any depth. Files that cannot be opened, or are larger than the limit for all,
  /// are left out. Never throws.
  explicit WatchedFiles(const std::string& path);
  /// None.
  WatchedFiles() = default;

  std::size_t count() const { return files_.size(); }
  /// Share of their bytes in the page cache. Empty without files, and if the system does not report it to this user
  /// (io/page_cache.hpp).
  std::optional<double> look() const;

 private:
  std::vector<io::File> files_;
};

}  // namespace shardkit::bench
