#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/env/findings.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;
constexpr std::array<std::string_view, 8> kPseudoTypes{"proc",   "sysfs",   "cgroup",  "cgroup2",
                                                       "devpts", "debugfs", "tracefs", "securityfs"};

bool has_option(const StorageFacts& storage, std::string_view option) {
  return std::find(storage.options.begin(), storage.options.end(), option) != storage.options.end();
}

void nothing_stored(const Environment& environment, Findings& findings) {
  const std::string& type = environment.storage.file_system;
  if (std::find(kPseudoTypes.begin(), kPseudoTypes.end(), type) == kPseudoTypes.end()) return;
  findings.push_back({"pseudo_file_system", kWarning, type, "a file system that stores data", "name the data's folder",
                      fmt::format("{} lies on {}, whose files the kernel makes up", environment.path, type)});
}

void in_memory(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != StorageClass::memory) return;
  const std::string& on =
      environment.storage.file_system.empty() ? environment.storage.device : environment.storage.file_system;
  findings.push_back({"data_in_memory", kWarning, on, "a disk, where a disk is to be measured",
                      "copy it to a disk to measure that; for training it is as fast as can be",
                      fmt::format("the data lies on {}, which is memory: no disk is measured", on)});
}

void in_layer(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != StorageClass::overlay) return;
  const bool contained = !environment.kernel.container.empty();
  findings.push_back(
      {"data_in_container_layer", kWarning, "overlay", "a volume or bind mount",
       "docker -v /data:/data, or a volume of Kubernetes",
       fmt::format("the data lies {} (overlay): it is copied on write and its cache state cannot be seen",
                   contained ? "in the container's own layers" : "on layers over another file system")});
}

void spinning(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != StorageClass::hdd) return;
  findings.push_back({"hdd", kWarning, "a spinning disk", "NVMe: 3000-7000 MB/s; this class: 150-250 MB/s",
                      "read whole shards in sequence with few readers, or stage to NVMe",
                      "the data lies on a spinning disk: 100 to 200 random reads a second, whatever their size"});
}

/// The kernel shows relatime and noatime and says nothing for strictatime.
void access_times(const Environment& environment, Findings& findings) {
  const StorageFacts& storage = environment.storage;
  const bool on_disk = !storage.device.empty() && storage.storage_class != StorageClass::memory;
  if (!on_disk || storage.options.empty() || has_option(storage, "ro") || has_option(storage, "relatime") ||
      has_option(storage, "noatime")) {
    return;
  }
  findings.push_back({"strictatime", kWarning, "strictatime", "relatime, or noatime",
                      fmt::format("mount -o remount,relatime {}", storage.mount_point),
                      "the mount option strictatime writes to disk for every file read"});
}

void no_read_ahead(const Environment& environment, Findings& findings) {
  const StorageFacts& storage = environment.storage;
  if (storage.device.empty() || storage.read_ahead.value_or(1) != 0) return;
  findings.push_back({"read_ahead_off", kHint, "0", "128 KiB or more",
                      fmt::format("blockdev --setra 256 /dev/{}", storage.device),
                      "the kernel reads nothing ahead on this device: sequential readers wait for each block"});
}

/// A fair scheduler costs processor time at rates of flash.
void scheduler(const Environment& environment, Findings& findings) {
  const auto& drive = environment.block_device;
  if (!drive || drive->storage_class != StorageClass::nvme || drive->scheduler != "bfq") return;
  findings.push_back({"scheduler", kHint, drive->scheduler, "none",
                      fmt::format("echo none > /sys/block/{}/queue/scheduler", drive->disk),
                      "the scheduler bfq limits an NVMe drive to a few 100,000 reads a second"});
}

void on_loop(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != StorageClass::loop) return;
  findings.push_back({"loop_device", kHint, environment.storage.device, "a file system on the disk itself",
                      "fine for squashfs images; for measurements use the disk below",
                      "the data lies in a file that is mounted: it may be cached twice"});
}

void unknown(const Environment& environment, Findings& findings) {
  const StorageFacts& storage = environment.storage;
  if (!storage.file_system.empty() || !storage.device.empty()) return;
  findings.push_back({"storage_unknown", kHint, "unknown", "listed in /proc/self/mountinfo",
                      "run it outside of the chroot or container too",
                      fmt::format("it cannot be seen what {} lies on", environment.path)});
}

}  // namespace

void judge_storage(const Environment& environment, Findings& findings) {
  if (environment.path.empty()) return;
  nothing_stored(environment, findings);
  in_memory(environment, findings);
  in_layer(environment, findings);
  spinning(environment, findings);
  access_times(environment, findings);
  no_read_ahead(environment, findings);
  scheduler(environment, findings);
  on_loop(environment, findings);
  unknown(environment, findings);
}

}  // namespace shardkit
