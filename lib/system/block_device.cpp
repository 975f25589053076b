#include "system/block_device.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace shardkit::system {
namespace {

constexpr int kMostLevels = 8;  // of devices upon devices

/// Volumes of clouds and disks of hypervisors, as they name themselves. They are not local drives, whatever bus they
/// report: AWS EBS, Google persistent disks, Azure remote disks, QEMU, VMware, VirtualBox.
constexpr std::array<std::string_view, 10> kVirtualModels{"Amazon Elastic Block Store",
                                                          "nvme_card-pd",
                                                          "PersistentDisk",
                                                          "MSFT NVMe Accelerator",
                                                          "Virtual_Disk",
                                                          "Virtual Disk",
                                                          "QEMU",
                                                          "VBOX",
                                                          "VMware",
                                                          "Virtual disk"};

bool is_virtual_model(std::string_view model) {
  return std::any_of(kVirtualModels.begin(), kVirtualModels.end(),
                     [&](std::string_view part) { return model.find(part) != std::string_view::npos; });
}

StorageClass class_of(const BlockDevice& device) {
  const std::string_view name = device.disk;
  if (name.starts_with("vd") || name.starts_with("xvd") || is_virtual_model(device.model)) {
    return StorageClass::virtual_disk;  // its "rotational" is a guess
  }
  const bool over_network = device.transport == "tcp" || device.transport == "rdma" || device.transport == "fc";
  if (name.starts_with("nvme")) return over_network ? StorageClass::network : StorageClass::nvme;
  if (name.starts_with("loop")) return StorageClass::loop;
  if (name.starts_with("zram") || name.starts_with("ram") || name.starts_with("pmem")) return StorageClass::memory;
  if (name.starts_with("rbd") || name.starts_with("nbd") || name.starts_with("drbd")) return StorageClass::network;
  if (!device.rotational) return StorageClass::unknown;
  return *device.rotational != 0 ? StorageClass::hdd : StorageClass::ssd;
}

/// The slowest first: an array is as fast as that.
int rank(StorageClass kind) {
  constexpr std::array kSlowestFirst{StorageClass::network, StorageClass::virtual_disk, StorageClass::hdd,
                                     StorageClass::loop,    StorageClass::ssd,          StorageClass::nvme,
                                     StorageClass::memory};
  return static_cast<int>(std::find(kSlowestFirst.begin(), kSlowestFirst.end(), kind) - kSlowestFirst.begin());
}

std::string model_of(const Probe& probe, const std::string& folder) {
  const std::string vendor = sys_word(probe, folder + "/device/vendor");
  const std::string model = sys_word(probe, folder + "/device/model");
  // "0x1af4" of virtio is not a name, and "ATA" means nothing.
  if (vendor.empty() || vendor == "ATA" || vendor.starts_with("0x")) return model;
  return model.empty() ? vendor : vendor + " " + model;
}

/// The folder of the controller that an NVMe drive is attached to. With native multipath the drive belongs to a
/// subsystem, whose controllers have folders beside it.t.
std::string nvme_controller(const Probe& probe, const std::string& folder) {
  const std::string above = folder + "/device";
  if (probe.text(above + "/transport")) return above;
  for (const std::string& name : probe.names(above)) {
    if (name.starts_with("nvme") && probe.text(above + "/" + name + "/transport")) return above + "/" + name;
  }
  return above;
}

void add_queue(const Probe& probe, const std::string& folder, BlockDevice& device) {
  const std::string schedulers = sys_word(probe, folder + "/queue/scheduler");  // "[mq-deadline] kyber none"
  const std::string chosen = chosen_word(schedulers);
  device.scheduler = chosen.empty() ? schedulers : chosen;
  if (const auto kibibytes = sys_number(probe, folder + "/queue/read_ahead_kb")) device.read_ahead = *kibibytes * 1024;
  device.queue_depth = sys_number(probe, folder + "/queue/nr_requests");
  device.rotational = sys_number(probe, folder + "/queue/rotational");
}

void add_link(const Probe& probe, const std::string& folder, BlockDevice& device) {
  std::string below = folder;
  if (device.disk.starts_with("nvme")) {
    below = nvme_controller(probe, folder);
    device.transport = sys_word(probe, below + "/transport");
  }
  if (const PcieLink link = read_pcie_link(probe, below); !link.address.empty()) {
    device.links.push_back({device.disk, link});
  }
}

BlockDevice read_device(const Probe& probe, const std::string& folder, int levels);

void add_members(const Probe& probe, const std::string& disk, int levels, BlockDevice& device) {
  for (const std::string& name : probe.names(disk + "/slaves")) {
    if (levels == 0) return;
    const BlockDevice member = read_device(probe, disk + "/slaves/" + name, levels - 1);
    if (member.name.empty()) continue;
    const auto disks = member.members.empty() ? std::vector<std::string>{member.disk} : member.members;
    for (const DriveLink& link : member.links) {
      const auto same = [&](const DriveLink& known) { return known.disk == link.disk; };
      if (std::none_of(device.links.begin(), device.links.end(), same)) device.links.push_back(link);
    }
    for (const std::string& one : disks) {
      if (std::find(device.members.begin(), device.members.end(), one) == device.members.end()) {
        device.members.push_back(one);
      }
    }
    if (device.members.size() == disks.size()) {  // the first
      device.storage_class = member.storage_class;
      device.model = member.model;
      if (device.array_level.empty()) device.array_level = member.array_level;
    } else if (rank(member.storage_class) < rank(device.storage_class)) {
      device.storage_class = member.storage_class;
    }
  }
}

BlockDevice read_device(const Probe& probe, const std::string& folder, int levels) {
  BlockDevice device;
  device.name = std::string(line_value(probe.text(folder + "/uevent").value_or(""), "DEVNAME="));
  if (device.name.empty()) return device;
  const bool partition = !probe.text(folder + "/queue/rotational") && probe.text(folder + "/../queue/rotational");
  const std::string disk = partition ? folder + "/.." : folder;  // a partition has its queue one folder up
  device.disk = partition ? line_value(probe.text(disk + "/uevent").value_or(""), "DEVNAME=") : "";
  if (device.disk.empty()) device.disk = device.name;
  if (const auto sectors = sys_number(probe, folder + "/size")) device.size = *sectors * 512;
  device.model = model_of(probe, disk);
  device.array_level = sys_word(probe, disk + "/md/level");
  add_queue(probe, disk, device);
  add_link(probe, disk, device);
  device.storage_class = class_of(device);
  add_members(probe, disk, levels, device);
  return device;
}

}  // namespace

BlockDevice read_block_device(const Probe& probe, const std::string& folder) {
  return read_device(probe, folder, kMostLevels);
}

std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe) {
  constexpr std::uint64_t kSector = 512;  // whatever the device's own
  const auto text = probe.text("/proc/diskstats");
  if (!text || device.empty()) return std::nullopt;
  for (const auto line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 14 || words[2] != device) continue;
    const auto number = [&](std::size_t word) { return parse_count(words[word]).value_or(0); };
    const auto bytes = [&](std::size_t word) {
      return parse_count(words[word], UINT64_MAX / kSector).value_or(0) * kSector;
    };
    const auto seconds = [&](std::size_t word) { return static_cast<double>(number(word)) / 1000; };
    return DiskCounters{number(3), bytes(5), seconds(6), seconds(13), number(7), bytes(9), seconds(10), seconds(12)};
  }
  return std::nullopt;
}

}  // namespace shardkit::system
