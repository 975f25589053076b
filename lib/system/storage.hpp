#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/block_device.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string device;  ///< "major:minor"
  std::string root;    ///< the folder of the file system that is visible at `point`
  std::string point;
  std::string type;                  ///< "ext4", "nfs4", "fuse.sshfs", ...
  std::string source;                ///< "/dev/vda", "server:/export", ...
  std::vector<std::string> options;  ///< of the mount, then those of the file system, none twice
  std::uint64_t id = 0;              ///< of the mount, for as long as it exists
};

/// The mounts that this process sees, in mount order; empty if /proc is not available.
std::vector<Mount> read_mounts(const Probe& probe = live_probe());

/// The mount of a path by its id, so that a hidden one is not taken; without an id by the number of its file system,
/// which is another one for subvolumes of btrfs. Empty if neither leads to a mount.
std::optional<Mount> mount_of(const std::string& path, const Probe& probe);

/// A name in /proc/self/mountinfo or mountstats, which have blanks and backslashes as three octal digits.
std::string unescape_mount_name(std::string_view text);

/// True if `path` is `folder` or is inside it.
bool is_below(const std::string& path, const std::string& folder);

/// `folder`, or the nearest above it that exists.
std::string nearest_folder(const std::string& folder);

/// What this user may still write to a file system.
struct FreeSpace {
  std::uint64_t bytes = 0;
  std::uint64_t files = UINT64_MAX;  ///< inodes; the largest number where the file system makes them as it needs them
};

/// Of the file system where `folder` is, or will be; in memory, of the control group too. Throws Error{denied, io}.
FreeSpace free_space(const std::string& folder);
std::uint64_t free_bytes(const std::string& folder);

/// Throws Error{denied} if this user cannot create files in `folder`, or it where it does not exist yet.
void require_writable(const std::string& folder);

/// The storage of a path.
struct StorageFacts {
  std::string file_system;  ///< "ext4", "nfs4", "fuse.sshfs", ...; empty if /proc is not available
  StorageClass storage_class = StorageClass::unknown;
  std::string mount_point;
  std::string source;                       ///< "/dev/vda", "server:/export", ...
  std::string device;                       ///< "nvme0n1p2"; empty without a block device
  std::vector<std::string> options;         ///< of the mount
  std::optional<std::uint64_t> read_ahead;  ///< of the device, in bytes

  void describe(FieldList& v) {
    v.field({"file_system", "type of the file system", kJudged}, file_system);
    v.field({"storage_class", "class of the storage", kJudged}, storage_class);
    v.field({"mount_point", "mount point"}, mount_point);
    v.field({"source", "mounted device or share"}, source);
    v.field({"device", "block device, if there is one"}, device);
    v.field({"mount_options", "options of the mount and the file system"}, options);
    v.field({"read_ahead", Unit::bytes, "read-ahead of the kernel for sequential readers"}, read_ahead);
  }
};

/// Facts about the storage of `path`, or about the device that it names; follows links. Throws Error{not_found} if the
/// path does not exist.
StorageFacts storage_of(const std::string& path, const Probe& probe = live_probe());

/// The path without links, of data to be read. Throws Error{usage} for a kind of file that contains no data, such as a
/// FIFO.
std::string data_path(const std::string& path, const Probe& probe);

/// The block device below a mount; without a name if there is none.
BlockDevice device_of(const Mount& mount, const Probe& probe);

/// Whether other machines use a file system, too: then locks may not reach all its users.
enum class Locality { local, unknown, remote };

/// By the type of a mount, such as "nfs4". fuse_kind() knows some of those that are unknown here.
Locality locality_of(const std::string& file_system);

/// True if a file's bytes come from another machine or through a user-space server: data that is cold here may be warm
/// there.
bool has_remote_cache(StorageClass storage_class);

}  // namespace shardkit::system
