#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

/// What kind of thing bytes are read from; decides which rates are normal and what "cold" can mean.
enum class StorageClass { unknown, hdd, ssd, nvme, virtual_disk, loop, memory, overlay, network, fuse };
template <>
struct EnumNames<StorageClass> {
  static constexpr std::array<std::string_view, 10> names{"unknown", "hdd",    "ssd",     "nvme",    "virtual_disk",
                                                          "loop",    "memory", "overlay", "network", "fuse"};
};

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
    v.field({"file_system", Unit::none, "type of the file system"}, file_system);
    v.field({"storage_class", Unit::none, "what the bytes are read from"}, storage_class);
    v.field({"mount_point", Unit::none, "where it is mounted"}, mount_point);
    v.field({"source", Unit::none, "what is mounted"}, source);
    v.field({"device", Unit::none, "block device, where there is one"}, device);
    v.field({"mount_options", Unit::none, "options of the mount and of the file system"}, options);
    v.field({"read_ahead", Unit::bytes, "how far the kernel reads ahead of a sequential reader"}, read_ahead);
  }
};

/// Facts of what `path` lies on; links are followed. Below another `root` than "/" the path is looked up as it is.
/// Throws Error{not_found} when there is no such path.
StorageFacts storage_of(const std::string& path, const std::string& root = "/");

/// True where a file's bytes come from another machine or through a user-space server: what is cold here may be warm
/// there.
bool has_remote_cache(StorageClass storage_class);

}  // namespace shardkit
