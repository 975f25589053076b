#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <sys/types.h>

#include "io/read_file.hpp"

namespace shardkit {

/// Opens files for reading past the page cache (O_DIRECT) and finds out how they want to be read. Thread-safe.
class DirectOpener {
 public:
  /// Throws Error{unsupported} for a file of which direct reads cannot be had: its file system refuses, only pretends,
  /// or stores it compressed.
  std::shared_ptr<const ReadFile> open(const std::string& path);

 private:
  /// What offsets and lengths must be a multiple of.
  std::uint32_t step_of(const File& file);
  std::uint32_t probed_step(const File& file);

  std::mutex mutex_;
  std::map<dev_t, std::uint32_t> by_device_;
};

}  // namespace shardkit
