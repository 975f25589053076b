#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "io/file_system.hpp"

namespace shardkit {

/// Writes checkpoints as a training job does that waits for them: a new file, all bytes, fdatasync. The file never
/// gets a name of its own and is removed at once. One thread at a time.
class CheckpointWriter {
 public:
  /// Into the folder `folder`, which has to be there. `files` outlives the writer. Throws as `write` does.
  CheckpointWriter(FileSystem& files, std::string folder, std::uint64_t bytes);

  /// Writes one; breaks off when the stop fires. Throws Error{io, no_space, denied} with the file's path.
  void write(const std::stop_token& stop);

  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }
  /// From the first byte to the end of fdatasync: of all, and of the one that took longest.
  double seconds() const { return seconds_; }
  double longest() const { return longest_; }

 private:
  FileSystem& files_;
  std::string folder_;
  std::uint64_t bytes_;
  std::vector<std::byte> block_;
  std::uint64_t count_ = 0;
  double seconds_ = 0;
  double longest_ = 0;
};

}  // namespace shardkit
