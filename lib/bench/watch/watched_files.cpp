#include "bench/watch/watched_files.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "io/page_cache.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kMostFilesAsked = 64;
constexpr std::size_t kMostEntries = 4096;
constexpr std::uint64_t kMostBytesAsked = std::uint64_t{4} << 30U;

/// Regular files at `path` or below; links to folders are not followed, so that the walk ends.
std::vector<std::string> some_paths(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return {path};
  std::vector<std::string> paths;
  std::size_t entries = 0;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end && entries < kMostEntries; ++entries) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) paths.push_back(entry->path());
    entry.increment(failed);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// `most` of them at equal distances.
template <class T>
std::vector<T> taken_evenly(std::vector<T> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(std::move(all[i * all.size() / most]));
  return some;
}

}  // namespace

WatchedFiles::WatchedFiles(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const std::string& name : taken_evenly(some_paths(path), kMostFilesAsked)) {
    try {
      io::File file = io::File::open_read(name);
      const std::uint64_t size = file.size();
      if (size > kMostBytesAsked) continue;
      bytes += size;
      files_.push_back(std::move(file));
    } catch (const Error&) {  // not for this user, or ended meanwhile: the others are enough
    }
  }
  if (bytes <= kMostBytesAsked) return;
  const double share = static_cast<double>(kMostBytesAsked) / static_cast<double>(bytes);
  const auto most = static_cast<std::size_t>(share * static_cast<double>(files_.size()));
  files_ = taken_evenly(std::move(files_), std::max<std::size_t>(1, most));
}

std::optional<double> WatchedFiles::look() const {
  double bytes = 0;
  double cached = 0;
  try {
    for (const io::File& file : files_) {
      const auto in_cache = io::cached_bytes(file);
      if (!in_cache) return std::nullopt;
      cached += static_cast<double>(*in_cache);
      bytes += static_cast<double>(file.size());
    }
  } catch (const Error&) {  // a server that forgot the file
    return std::nullopt;
  }
  return bytes > 0 ? std::optional(std::min(cached / bytes, 1.0)) : std::nullopt;
}

}  // namespace shardkit::bench
