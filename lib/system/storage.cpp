#include "system/storage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "system/limits.hpp"

namespace shardkit::system {
namespace {

/// "36 35 98:0 /root /point rw,noatime [tag ...] - type source rw,errors=continue"
std::optional<Mount> parse_mount(std::string_view line) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  const auto id = words.empty() ? std::nullopt : parse_count(words[0]);
  if (!id || dash - words.begin() < 6 || words.end() - dash < 3) return std::nullopt;
  Mount mount{.device = std::string(words[2]),
              .root = unescape_mount_name(words[3]),
              .point = unescape_mount_name(words[4]),
              .type = std::string(dash[1]),
              .source = unescape_mount_name(dash[2]),
              .options = {},
              .id = *id};
  for (const auto list : {words[5], words.end() - dash > 3 ? dash[3] : std::string_view()}) {
    for (const auto option : split(list, ',')) {
      const bool known = std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
      if (!known) mount.options.emplace_back(option);
    }
  }
  return mount;
}

/// What the type of a file system alone says. The class is unknown for those on a block device, which has one.
struct FileSystemTypes {
  std::string_view names;
  StorageClass storage_class = StorageClass::unknown;
  Locality locality = Locality::local;
};

/// 9p and virtiofs come from the host of a virtual machine, whose own storage is unknown. So is that of fuseblk.
constexpr std::array kTypes{
    FileSystemTypes{"ext2 ext3 ext4 xfs btrfs zfs f2fs jfs reiserfs bcachefs nilfs2 vfat exfat ntfs ntfs3 hfsplus udf "
                    "iso9660 squashfs erofs aufs ecryptfs"},
    FileSystemTypes{"tmpfs ramfs devtmpfs rootfs", StorageClass::memory},
    FileSystemTypes{"overlay", StorageClass::overlay},
    FileSystemTypes{"fuse.fuse-overlayfs", StorageClass::fuse},
    FileSystemTypes{"nfs nfs4 cifs smb3 ceph lustre gpfs beegfs afs glusterfs orangefs pvfs2 wekafs",
                    StorageClass::network, Locality::remote},
    FileSystemTypes{"9p virtiofs", StorageClass::network, Locality::unknown},
    FileSystemTypes{"fuseblk", StorageClass::unknown, Locality::unknown},
};

FileSystemTypes facts_of_type(std::string_view type) {
  for (const FileSystemTypes& row : kTypes) {
    const auto names = split(row.names, ' ');
    if (std::ranges::find(names, type) != names.end()) return row;
  }
  return {type, type.starts_with("fuse") ? StorageClass::fuse : StorageClass::unknown, Locality::unknown};
}

StorageClass class_of_type(std::string_view type) { return facts_of_type(type).storage_class; }

void add_device(const BlockDevice& device, StorageFacts& facts) {
  if (device.name.empty()) return;
  facts.device = device.name;
  facts.storage_class = device.storage_class;
  facts.read_ahead = device.read_ahead;
}

/// The read-ahead of a network or user-space file system is in its backing device info, if it has one.
std::optional<std::uint64_t> read_ahead_without_device(const Mount& mount, const Probe& probe) {
  const auto kibibytes = sys_number(probe, "/sys/class/bdi/" + mount.device + "/read_ahead_kb");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

}  // namespace

std::vector<Mount> read_mounts(const Probe& probe) {
  std::vector<Mount> mounts;
  const auto text = probe.text("/proc/self/mountinfo");
  if (!text) return mounts;
  for (const auto line : split(*text, '\n')) {
    if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

std::optional<Mount> mount_of(const std::string& path, const Probe& probe) {
  const auto mounts = read_mounts(probe);
  const auto id = probe.mount_id(path);
  if (id) {
    const auto found = std::ranges::find(mounts, *id, &Mount::id);
    return found == mounts.end() ? std::nullopt : std::optional(*found);
  }
  const auto there = probe.stat(path);
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!there || mount.device != there->device || !is_below(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string unescape_mount_name(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && std::ranges::all_of(text.substr(i + 1, 3), is_octal)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string nearest_folder(const std::string& folder) {
  std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  std::error_code ignored;
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

FreeSpace free_space(const std::string& folder) {
  const std::string path = nearest_folder(folder);
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) throw system_error(errno, "get the free space of", path);
  FreeSpace space{.bytes = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize};
  if (info.f_files > 0) space.files = info.f_favail;
  // What is written to memory counts towards the limit of the control group.
  const auto mount = mount_of(path, live_probe());
  if (mount && class_of_type(mount->type) == StorageClass::memory) {
    space.bytes = std::min(space.bytes, free_group_memory().value_or(space.bytes));
  }
  return space;
}

std::uint64_t free_bytes(const std::string& folder) { return free_space(folder).bytes; }

void require_writable(const std::string& folder) {
  const std::string path = nearest_folder(folder);
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) throw system_error(errno, "write to", path);
}

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
  const auto mount = mount_of(*resolved, probe);
  if (!mount) return facts;
  facts.file_system = mount->type;
  facts.mount_point = mount->point;
  facts.source = mount->source;
  facts.options = mount->options;
  facts.storage_class = class_of_type(mount->type);
  if (has_remote_cache(facts.storage_class)) facts.read_ahead = read_ahead_without_device(*mount, probe);
  if (facts.storage_class == StorageClass::unknown) add_device(device_of(*mount, probe), facts);
  return facts;
}

std::string data_path(const std::string& path, const Probe& probe) {
  std::string resolved = probe.resolve(path).value_or(path);
  const auto facts = probe.stat(resolved);
  if (!facts || facts->kind != PathFacts::Kind::other) return resolved;
  throw Error(
      ErrorCode::usage,
      "'" + path +
          "' is a FIFO, socket or character device, which contains no data; give a folder, a file or a block device",
      path);
}

Locality locality_of(const std::string& file_system) { return facts_of_type(file_system).locality; }

bool has_remote_cache(StorageClass storage_class) {
  return storage_class == StorageClass::network || storage_class == StorageClass::fuse;
}

}  // namespace shardkit::system
