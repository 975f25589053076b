#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// The kind of storage; decides which rates are normal and what "cold" can mean.
enum class StorageClass { unknown, hdd, ssd, nvme, virtual_disk, loop, memory, overlay, network, fuse };
constexpr auto enum_names(StorageClass) {
  return std::to_array<std::string_view>(
      {"unknown", "hdd", "ssd", "nvme", "virtual_disk", "loop", "memory", "overlay", "network", "fuse"});
}

/// A drive and its link to the host.
struct DriveLink {
  std::string disk;
  PcieLink pcie;

  void describe(FieldList& v) {
    v.field({"disk", "whole disk"}, disk);
    v.field({"pcie", "its link to the host"}, pcie);
  }
};

/// A block device as /sys/class/block describes it, with its queue and its members.
struct BlockDevice {
  std::string name;  ///< "nvme0n1p2", "dm-0"; empty if there is none
  std::string disk;  ///< whole disk of a partition, else the same
  StorageClass storage_class = StorageClass::unknown;
  std::string model;
  std::string scheduler;    ///< the one in use: "none", "mq-deadline", ...
  std::string transport;    ///< of an NVMe: "pcie", "tcp", "rdma", "fc"
  std::string array_level;  ///< of an md array, this one or one below it: "raid0", ...
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> read_ahead;
  std::optional<std::uint64_t> queue_depth;
  std::optional<std::uint64_t> rotational;  ///< 0 or 1, as the kernel assumes
  bool spins = false;                       ///< the disk itself has answered so
  std::vector<std::string> members;         ///< disks below md, LVM, dm-crypt, each once
  std::vector<DriveLink> links;             ///< of the drive, or of each member that is on PCIe

  void describe(FieldList& v) {
    v.field({"name", "block device"}, name);
    v.field({"disk", "the whole disk, if that is a partition"}, disk);
    v.field({"storage_class", "class of the device; for an array, that of its slowest member"}, storage_class);
    v.field({"model", "vendor and model"}, model);
    v.field({"size", Unit::bytes, "its size"}, size);
    v.field({"scheduler", "I/O scheduler in use"}, scheduler);
    v.field({"read_ahead", Unit::bytes, "read-ahead of the kernel for sequential readers"}, read_ahead);
    v.field({"queue_depth", Unit::count, "length of its request queue (nr_requests)"}, queue_depth);
    v.field({"rotational", "1 if the kernel considers it a spinning disk"}, rotational);
    v.field({"transport", "transport of an NVMe drive"}, transport);
    v.field({"array_level", "RAID level of an md array, its own or below it"}, array_level);
    v.field({"members", "disks below an array, a logical volume or an encrypted device"}, members);
    v.field({"links", "PCIe links of the drive, or of each member"}, links);
  }
};

/// The device at a folder of /sys, such as /sys/dev/block/259:2 or /sys/class/block/sda; follows md, device mapper and
/// partitions to the members. Without a name if the folder does not exist.
BlockDevice read_block_device(const Probe& probe, const std::string& folder);

/// A block device's counters since the machine started (/proc/diskstats; Documentation/admin-guide/iostats.rst). The
/// kernel stores its milliseconds in 32 bits: all seconds wrap after 49 days.
struct DiskCounters {
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  double read_wait_seconds = 0;  ///< summed over the reads, from request to answer
  double queue_seconds = 0;      ///< summed over all requests in flight
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  double write_wait_seconds = 0;  ///< like those of reads
  double busy_seconds = 0;        ///< with at least one request in flight

  bool operator==(const DiskCounters&) const = default;
};

/// The counters of the whole disks below a device, summed, with other partitions and volumes. Busy is their mean.
/// With NVMe multipath, the paths count. Bytes through an md array count once. Empty for a device without a line there,
/// such as a network file system, and if all are 0, because then the kernel does not count here.
std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe = live_probe());

/// A disk's counters, and the bytes that this process has read from storage so far.
struct DiskMoment {
  std::optional<DiskCounters> disk;
  std::uint64_t own_reads = 0;
};
DiskMoment look_at_disk(const std::string& device, const Probe& probe = live_probe());

/// What was counted between two moments. Empty without counters, after they started again, or if they are smaller than
/// what this process read, which is then not counted there.
std::optional<DiskCounters> disk_growth(const DiskMoment& before, const DiskMoment& after);

}  // namespace shardkit::system
