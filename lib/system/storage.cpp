#include "system/storage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/error.hpp"

namespace shardkit::system {
namespace {

constexpr std::array<std::string_view, 15> kNetworkTypes{"nfs",    "nfs4",      "cifs",     "smb3",  "ceph",
                                                         "lustre", "gpfs",      "beegfs",   "9p",    "virtiofs",
                                                         "afs",    "glusterfs", "orangefs", "pvfs2", "wekafs"};

/// f_type of statfs(2) where no mount table tells, as in a chroot or with a masked /proc (linux/magic.h; Lustre's
/// LL_SUPER_MAGIC, ZFS's and GPFS's from their own sources).
struct Magic {
  std::uint64_t number;
  std::string_view type;
};
constexpr std::array<Magic, 19> kMagics{{{0xef53, "ext4"},
                                         {0x58465342, "xfs"},
                                         {0x9123683e, "btrfs"},
                                         {0xf2f52010, "f2fs"},
                                         {0x2fc12fc1, "zfs"},
                                         {0x01021994, "tmpfs"},
                                         {0x858458f6, "ramfs"},
                                         {0x6969, "nfs"},
                                         {0xfe534d42, "smb3"},
                                         {0xff534d42, "cifs"},
                                         {0x65735546, "fuse"},
                                         {0x794c7630, "overlay"},
                                         {0x0bd00bd0, "lustre"},
                                         {0x47504653, "gpfs"},
                                         {0x00c36400, "ceph"},
                                         {0x19830326, "beegfs"},
                                         {0x01021997, "9p"},
                                         {0x9fa0, "proc"},
                                         {0x62656572, "sysfs"}}};

/// The class by the file system's type alone; unknown for those that sit on a block device.
StorageClass class_of_type(std::string_view type) {
  if (type == "tmpfs" || type == "ramfs" || type == "devtmpfs") return StorageClass::memory;
  if (type == "overlay") return StorageClass::overlay;
  if (std::find(kNetworkTypes.begin(), kNetworkTypes.end(), type) != kNetworkTypes.end()) return StorageClass::network;
  if (type.starts_with("fuse") && type != "fuseblk") return StorageClass::fuse;
  return StorageClass::unknown;
}

void add_device(const BlockDevice& device, StorageFacts& facts) {
  if (device.name.empty()) return;
  facts.device = device.name;
  facts.storage_class = device.storage_class;
  facts.read_ahead = device.read_ahead;
}

StorageFacts facts_without_mounts(const std::string& path, const Probe& probe) {
  StorageFacts facts;
  const auto space = probe.space(path);
  if (!space) return facts;
  const auto known =
      std::find_if(kMagics.begin(), kMagics.end(), [&](const Magic& magic) { return magic.number == space->magic; });
  if (known == kMagics.end()) return facts;
  facts.file_system = known->type;
  facts.storage_class = class_of_type(known->type);
  return facts;
}

/// What a network or user-space file system reads ahead stands with its backing device info, if it has one.
std::optional<std::uint64_t> read_ahead_without_device(const Mount& mount, const Probe& probe) {
  const auto kibibytes = sys_number(probe, "/sys/class/bdi/" + mount.device + "/read_ahead_kb");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

}  // namespace

BlockDevice device_of(const Mount& mount, const Probe& probe) {
  if (class_of_type(mount.type) != StorageClass::unknown) return {};
  // Some file systems (btrfs) have a number of their own in the mount table; the source's name leads on.
  const BlockDevice by_number = read_block_device(probe, "/sys/dev/block/" + mount.device);
  if (!by_number.name.empty() || !mount.source.starts_with("/dev/")) return by_number;
  const std::string source = probe.resolve(mount.source).value_or(mount.source);  // /dev/mapper/x is a link to dm-n
  return read_block_device(probe, "/sys/class/block/" + last_name(source));
}

StorageFacts storage_of(const std::string& path, const Probe& probe) {
  const auto resolved = probe.resolve(path);
  if (!resolved) throw system_error(errno, "look up", path);
  StorageFacts facts;
  const auto there = probe.stat(*resolved);
  if (there && there->kind == PathFacts::Kind::block_device) {
    add_device(read_block_device(probe, "/sys/dev/block/" + there->device), facts);
    return facts;
  }
  const auto mounts = read_mounts(probe);
  const Mount* mount = find_mount(mounts, *resolved);
  if (mount == nullptr) return facts_without_mounts(*resolved, probe);
  facts.file_system = mount->type;
  facts.mount_point = mount->point;
  facts.source = mount->source;
  facts.options = mount->options;
  facts.storage_class = class_of_type(mount->type);
  if (has_remote_cache(facts.storage_class)) facts.read_ahead = read_ahead_without_device(*mount, probe);
  if (facts.storage_class == StorageClass::unknown) add_device(device_of(*mount, probe), facts);
  return facts;
}

bool has_remote_cache(StorageClass storage_class) {
  return storage_class == StorageClass::network || storage_class == StorageClass::fuse;
}

}  // namespace shardkit::system
