#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file_system.hpp"

namespace shardkit {

/// A folder of its own below one that the user named, for the files of a benchmark's checkpoints. It goes with all that
/// is in it when the object does, after an error too.
class CheckpointFolder {
 public:
  /// Throws Error{not_found} when `parent` is no folder: a mistyped mount point must not fill another disk.
  CheckpointFolder(FileSystem& files, const std::string& parent);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Where a rank's file is while it is written, and once it is whole.
  std::string partial(std::uint64_t rank) const;
  std::string whole(std::uint64_t rank) const;

  /// Gives the ranks' files their names and makes these durable.
  void publish(std::uint64_t ranks);
  /// Removes the files, and waits until what the disk still has to do for others is done, so that it costs the next
  /// turn nothing.
  void clear();

 private:
  FileSystem& files_;
  std::string path_;
};

/// Folders in `parent` of other runs: of one that runs now, or that was killed. In order of their names.
std::vector<std::string> checkpoint_folders(const std::string& parent);

}  // namespace shardkit
