#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/block_device.hpp"
#include "system/mounts.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// Where a path lies.
struct StorageFacts {
  std::string file_system;  ///< "ext4", "nfs4", "fuse.sshfs", ...; empty when /proc does not tell
  StorageClass storage_class = StorageClass::unknown;
  std::string mount_point;
  std::string source;                       ///< "/dev/vda", "server:/export", ...
  std::string device;                       ///< "nvme0n1p2"; empty without a block device
  std::vector<std::string> options;         ///< of the mount
  std::optional<std::uint64_t> read_ahead;  ///< of the device, in bytes

  void describe(FieldVisitor& v) {
    v.field({"file_system", "type of the file system", kJudged}, file_system);
    v.field({"storage_class", "what the bytes are read from", kJudged}, storage_class);
    v.field({"mount_point", "where it is mounted"}, mount_point);
    v.field({"source", "what is mounted"}, source);
    v.field({"device", "block device, where there is one"}, device);
    v.field({"mount_options", "options of the mount and of the file system"}, options);
    v.field({"read_ahead", Unit::bytes, "how far the kernel reads ahead of a sequential reader"}, read_ahead);
  }
};

/// Facts of what `path` lies on, or of the device that it names; links are followed. Throws Error{not_found} when there
/// is no such path.
StorageFacts storage_of(const std::string& path, const Probe& probe = live_probe());

/// The block device below a mount; without a name where there is none.
BlockDevice device_of(const Mount& mount, const Probe& probe);

/// True where a file's bytes come from another machine or through a user-space server: what is cold here may be warm
/// there.
bool has_remote_cache(StorageClass storage_class);

}  // namespace shardkit::system
