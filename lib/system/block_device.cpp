#include "system/block_device.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <unistd.h>

#include "core/text.hpp"
#include "system/processes.hpp"

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
  return *device.rotational == 0 ? StorageClass::ssd : device.spins ? StorageClass::hdd : StorageClass::unknown;
}

/// Controllers, arrays and clouds have "rotational=1" because they do not answer how fast their medium rotates. A disk
/// does, in page B1 of its vital product data (SBC-4), which Linux shows from 5.17 on. ATA disks are asked by libata.
bool spins(const Probe& probe, const std::string& folder) {
  constexpr unsigned kLeastRotations = 0x401;  // per minute; smaller numbers mean "not reported" and "does not rotate"
  const auto page = probe.text(folder + "/device/vpd_pgb1");
  if (!page || page->size() < 6) return sys_word(probe, folder + "/device/vendor") == "ATA";
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>((*page)[at])); };
  return (byte(4) << 8U | byte(5)) >= kLeastRotations;
}

/// The slowest first: an array is as fast as that.
int rank(StorageClass kind) {
  constexpr std::array kSlowestFirst{StorageClass::unknown, StorageClass::network, StorageClass::virtual_disk,
                                     StorageClass::hdd,     StorageClass::loop,    StorageClass::ssd,
                                     StorageClass::nvme,    StorageClass::memory};
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
/// subsystem, whose controllers have folders beside it.
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

std::string device_name(const Probe& probe, const std::string& folder) {
  return std::string(line_value(probe.text(folder + "/uevent").value_or(""), "DEVNAME="));
}

/// A partition has its queue one folder up.
std::string disk_folder(const Probe& probe, const std::string& folder) {
  const bool partition = !probe.text(folder + "/queue/rotational") && probe.text(folder + "/../queue/rotational");
  return partition ? folder + "/.." : folder;
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
  device.name = device_name(probe, folder);
  if (device.name.empty()) return device;
  const std::string disk = disk_folder(probe, folder);
  const bool partition = disk != folder;
  device.disk = partition ? device_name(probe, disk) : "";
  if (device.disk.empty()) device.disk = device.name;
  if (const auto sectors = sys_number(probe, folder + "/size")) device.size = *sectors * 512;
  device.model = model_of(probe, disk);
  device.array_level = sys_word(probe, disk + "/md/level");
  add_queue(probe, disk, device);
  add_link(probe, disk, device);
  device.spins = device.rotational == 1 && spins(probe, disk);
  device.storage_class = class_of(device);
  add_members(probe, disk, levels, device);
  return device;
}

}  // namespace

BlockDevice read_block_device(const Probe& probe, const std::string& folder) {
  return read_device(probe, folder, kMostLevels);
}

namespace {

using DiskTable = std::map<std::string, DiskCounters, std::less<>>;

DiskTable read_disk_table(const Probe& probe) {
  constexpr std::uint64_t kSector = 512;  // whatever the device's own
  DiskTable table;
  const std::string text = probe.text("/proc/diskstats").value_or("");
  for (const auto line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 14) continue;
    const auto number = [&](std::size_t word) { return parse_count(words[word]).value_or(0); };
    const auto bytes = [&](std::size_t word) {
      return parse_count(words[word], UINT64_MAX / kSector).value_or(0) * kSector;
    };
    const auto seconds = [&](std::size_t word) { return static_cast<double>(number(word)) / 1000; };
    table[std::string(words[2])] = {number(3), bytes(5), seconds(6),  seconds(13),
                                    number(7), bytes(9), seconds(10), seconds(12)};
  }
  return table;
}

/// What counts for a device.
struct Counted {
  std::set<std::string> disks;
  std::map<std::string, std::vector<std::string>> arrays;  ///< md, with the devices that it writes to
};

void find_counted(const Probe& probe, const std::string& folder, int levels, Counted& counted) {
  const std::string disk = disk_folder(probe, folder);
  const std::string name = device_name(probe, disk);
  if (name.empty() || levels == 0) return;
  const auto slaves = probe.names(disk + "/slaves");
  if (slaves.empty()) counted.disks.insert(name);
  if (!slaves.empty() && probe.text(disk + "/md/level")) counted.arrays[name] = slaves;
  for (const std::string& slave : slaves) find_counted(probe, disk + "/slaves/" + slave, levels - 1, counted);
}

/// "nvme0c1n2" is a path to "nvme0n2". Before Linux 6.14 only paths count.
bool is_path_to(std::string_view name, std::string_view disk) {
  const std::size_t space = disk.starts_with("nvme") ? disk.find('n', 4) : disk.npos;
  if (space == disk.npos || !name.starts_with(disk.substr(0, space)) || !name.ends_with(disk.substr(space)))
    return false;
  if (name.size() < disk.size() + 2 || name[space] != 'c') return false;
  return is_digits(name.substr(space + 1, name.size() - disk.size() - 1));
}

/// The lines of a disk; empty if it has none.
std::vector<DiskCounters> lines_of(const std::string& disk, const DiskTable& table) {
  std::vector<DiskCounters> lines;
  for (const auto& [name, counters] : table) {
    if (is_path_to(name, disk)) lines.push_back(counters);
  }
  const auto own = table.find(disk);
  if (lines.empty() && own != table.end()) lines.push_back(own->second);
  return lines;
}

/// The sum or the difference.
DiskCounters combined(const DiskCounters& a, const DiskCounters& b, const auto& operation) {
  return {operation(a.reads, b.reads),
          operation(a.read_bytes, b.read_bytes),
          operation(a.read_wait_seconds, b.read_wait_seconds),
          operation(a.queue_seconds, b.queue_seconds),
          operation(a.writes, b.writes),
          operation(a.written_bytes, b.written_bytes),
          operation(a.write_wait_seconds, b.write_wait_seconds),
          operation(a.busy_seconds, b.busy_seconds)};
}

/// Takes away `less`, which may be a little more because lines are read while the disk works.
void take(std::uint64_t less, std::uint64_t& from) { from -= std::min(less, from); }

/// Replaces what an array reads from and writes to its members by what was asked of it.
void count_once(const std::string& array, const std::vector<std::string>& members, const DiskTable& table,
                DiskCounters& sum) {
  const auto own = table.find(array);
  if (own == table.end()) return;
  sum.read_bytes += own->second.read_bytes;
  sum.written_bytes += own->second.written_bytes;
  for (const std::string& member : members) {
    const auto line = table.find(member);
    if (line == table.end()) continue;
    take(line->second.read_bytes, sum.read_bytes);
    take(line->second.written_bytes, sum.written_bytes);
  }
}

}  // namespace

std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe) {
  if (device.empty()) return std::nullopt;
  Counted counted;
  find_counted(probe, "/sys/class/block/" + device, kMostLevels, counted);
  if (counted.disks.empty()) counted.disks.insert(device);
  const DiskTable table = read_disk_table(probe);
  DiskCounters sum;
  for (const std::string& disk : counted.disks) {
    const auto lines = lines_of(disk, table);
    if (lines.empty()) return std::nullopt;
    for (const DiskCounters& line : lines) sum = combined(sum, line, std::plus<>());
  }
  for (const auto& [array, members] : counted.arrays) count_once(array, members, table, sum);
  sum.busy_seconds /= static_cast<double>(counted.disks.size());
  return sum.reads + sum.writes > 0 ? std::optional(sum) : std::nullopt;
}

DiskMoment look_at_disk(const std::string& device, const Probe& probe) {
  const auto own = read_process_bytes(static_cast<std::uint64_t>(::getpid()), probe);
  return {read_disk_counters(device, probe), own ? own->from_storage : 0};
}

std::optional<DiskCounters> disk_growth(const DiskMoment& before, const DiskMoment& after) {
  constexpr std::uint64_t kOfOtherDisks = 1U << 20U;  // programs and libraries
  if (!before.disk || !after.disk) return std::nullopt;
  const DiskCounters& a = *before.disk;
  const DiskCounters& b = *after.disk;
  if (b.reads < a.reads || b.writes < a.writes || b.read_bytes < a.read_bytes || b.written_bytes < a.written_bytes) {
    return std::nullopt;
  }
  const std::uint64_t own = after.own_reads - std::min(before.own_reads, after.own_reads);
  if (own > b.read_bytes - a.read_bytes + kOfOtherDisks + own / 10) return std::nullopt;
  return combined(b, a, std::minus<>());
}

}  // namespace shardkit::system
