#include "system/storage.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "core/error.hpp"
#include "system/mounts.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::array<std::string_view, 15> kNetworkTypes{"nfs",    "nfs4",      "cifs",     "smb3",  "ceph",
                                                         "lustre", "gpfs",      "beegfs",   "9p",    "virtiofs",
                                                         "afs",    "glusterfs", "orangefs", "pvfs2", "wekafs"};

std::string absolute_path(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(path.c_str(), resolved.data()) == nullptr) throw system_error(errno, "look up", path);
  return resolved.data();
}

/// The class by the file system's type alone; unknown for those that sit on a block device.
StorageClass class_of_type(std::string_view type) {
  if (type == "tmpfs" || type == "ramfs" || type == "devtmpfs") return StorageClass::memory;
  if (type == "overlay") return StorageClass::overlay;
  if (std::find(kNetworkTypes.begin(), kNetworkTypes.end(), type) != kNetworkTypes.end()) return StorageClass::network;
  if (type.starts_with("fuse") && type != "fuseblk") return StorageClass::fuse;
  return StorageClass::unknown;
}

StorageClass class_of_device(std::string_view name, std::optional<std::uint64_t> rotational) {
  if (name.starts_with("nvme")) return StorageClass::nvme;
  if (name.starts_with("vd") || name.starts_with("xvd"))
    return StorageClass::virtual_disk;  // its "rotational" is a guess
  if (name.starts_with("loop")) return StorageClass::loop;
  if (name.starts_with("zram") || name.starts_with("ram")) return StorageClass::memory;
  if (!rotational) return StorageClass::unknown;
  return *rotational != 0 ? StorageClass::hdd : StorageClass::ssd;
}

std::string device_name(const std::string& root, const std::string& folder) {
  const std::string uevent = sys_text(root, folder + "/uevent").value_or("");
  for (const auto line : split(uevent, '\n')) {
    if (line.starts_with("DEVNAME=")) return std::string(line.substr(8));
  }
  return {};
}

/// Where /sys keeps the device of a mount. Some file systems (btrfs) have a number of their own there; the source's
/// name leads on.
std::string device_folder(const std::string& root, const Mount& mount) {
  std::string by_number = "sys/dev/block/" + mount.device;
  if (sys_text(root, by_number + "/uevent") || !mount.source.starts_with("/dev/")) return by_number;
  return "sys/class/block/" + mount.source.substr(mount.source.rfind('/') + 1);
}

void add_device(const std::string& root, const Mount& mount, StorageFacts& facts) {
  const std::string folder = device_folder(root, mount);
  facts.device = device_name(root, folder);
  if (facts.device.empty()) return;
  // A partition has its queue one folder up.
  const std::string queue = sys_text(root, folder + "/queue/rotational") ? folder + "/queue" : folder + "/../queue";
  facts.storage_class = class_of_device(facts.device, sys_number(root, queue + "/rotational"));
  if (const auto kibibytes = sys_number(root, queue + "/read_ahead_kb")) facts.read_ahead = *kibibytes * 1024;
}

}  // namespace

StorageFacts storage_of(const std::string& path, const std::string& root) {
  const auto mounts = read_mounts(root);
  const Mount* mount = find_mount(mounts, root == "/" ? absolute_path(path) : path);
  if (mount == nullptr) return {};
  StorageFacts facts;
  facts.file_system = mount->type;
  facts.mount_point = mount->point;
  facts.source = mount->source;
  facts.options = mount->options;
  facts.storage_class = class_of_type(mount->type);
  if (facts.storage_class == StorageClass::unknown) add_device(root, *mount, facts);
  return facts;
}

bool has_remote_cache(StorageClass storage_class) {
  return storage_class == StorageClass::network || storage_class == StorageClass::fuse;
}

}  // namespace shardkit
