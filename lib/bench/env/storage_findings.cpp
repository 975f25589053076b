#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/findings.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;
constexpr std::array<std::string_view, 8> kPseudoTypes{"proc",   "sysfs",   "cgroup",  "cgroup2",
                                                       "devpts", "debugfs", "tracefs", "securityfs"};

bool has_option(const system::StorageFacts& storage, std::string_view option) {
  return std::find(storage.options.begin(), storage.options.end(), option) != storage.options.end();
}

void nothing_stored(const Environment& environment, Findings& findings) {
  const std::string& type = environment.storage.file_system;
  if (std::find(kPseudoTypes.begin(), kPseudoTypes.end(), type) == kPseudoTypes.end()) return;
  findings.push_back({"pseudo_file_system", kWarning, type, "a file system that stores data", "name the data's folder",
                      fmt::format("{} lies on {}, whose files the kernel makes up", environment.path, type)});
}

void in_memory(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != system::StorageClass::memory) return;
  const std::string& on =
      environment.storage.file_system.empty() ? environment.storage.device : environment.storage.file_system;
  findings.push_back({"data_in_memory", kWarning, on, "a disk, where a disk is to be measured",
                      "copy it to a disk to measure that; for training it is as fast as can be",
                      fmt::format("the data lies on {}, which is memory: no disk is measured", on)});
}

void in_layer(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != system::StorageClass::overlay) return;
  const bool contained = !environment.kernel.container.empty();
  findings.push_back(
      {"data_in_container_layer", kWarning, "overlay", "a volume or bind mount",
       "docker -v /data:/data, or a volume of Kubernetes",
       fmt::format("the data lies {} (overlay): it is copied on write and its cache state cannot be seen",
                   contained ? "in the container's own layers" : "on layers over another file system")});
}

void spinning(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != system::StorageClass::hdd) return;
  findings.push_back({"hdd", kWarning, "a spinning disk", "NVMe: 3000-7000 MB/s; this class: 150-250 MB/s",
                      "read whole shards in sequence with few readers, or stage to NVMe",
                      "the data lies on a spinning disk: 100 to 200 random reads a second, whatever their size"});
}

/// The kernel shows relatime and noatime and says nothing for strictatime.
void access_times(const Environment& environment, Findings& findings) {
  const system::StorageFacts& storage = environment.storage;
  const bool on_disk = !storage.device.empty() && storage.storage_class != system::StorageClass::memory;
  if (!on_disk || storage.options.empty() || has_option(storage, "ro") || has_option(storage, "relatime") ||
      has_option(storage, "noatime")) {
    return;
  }
  findings.push_back({"strictatime", kWarning, "strictatime", "relatime, or noatime",
                      fmt::format("mount -o remount,relatime {}", storage.mount_point),
                      "the mount option strictatime writes to disk for every file read"});
}

void no_read_ahead(const Environment& environment, Findings& findings) {
  const system::StorageFacts& storage = environment.storage;
  if (storage.device.empty() || storage.read_ahead.value_or(1) != 0) return;
  findings.push_back({"read_ahead_off", kHint, "0", "128 KiB or more",
                      fmt::format("blockdev --setra 256 /dev/{}", storage.device),
                      "the kernel reads nothing ahead on this device: sequential readers wait for each block"});
}

/// A fair scheduler costs processor time at rates of flash.
void scheduler(const Environment& environment, Findings& findings) {
  const auto& drive = environment.block_device;
  if (!drive || drive->storage_class != system::StorageClass::nvme || drive->scheduler != "bfq") return;
  findings.push_back({"scheduler", kHint, drive->scheduler, "none",
                      fmt::format("echo none > /sys/block/{}/queue/scheduler", drive->disk),
                      "the scheduler bfq limits an NVMe drive to a few 100,000 reads a second"});
}

void on_loop(const Environment& environment, Findings& findings) {
  if (environment.storage.storage_class != system::StorageClass::loop) return;
  findings.push_back({"loop_device", kHint, environment.storage.device, "a file system on the disk itself",
                      "fine for squashfs images; for measurements use the disk below",
                      "the data lies in a file that is mounted: it may be cached twice"});
}

void unknown(const Environment& environment, Findings& findings) {
  const system::StorageFacts& storage = environment.storage;
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

namespace {

constexpr std::uint64_t kKi = 1024;
constexpr double kTenGigabit = 10e9 / 8;

/// One TCP connection carries 1 to 2 GB/s at best; up to 10 Gb/s it is enough for bandwidth.
void nfs_connections(const Environment& environment, const system::NfsFacts& nfs, Findings& findings) {
  if (nfs.connections > 1 || nfs.protocol == "rdma" || nfs.protocol == "udp") return;
  const auto network = fastest_network(environment);
  const bool enough = network && *network <= kTenGigabit;
  findings.push_back({"nfs_nconnect", enough ? kHint : kWarning, "nconnect=1", "nconnect=8 to 16",
                      "mount -o nconnect=8 (kernel 5.3 or newer; the first mount of a server decides for all)",
                      "NFS is mounted with one connection; nconnect=8 or more lets several streams run"});
}

void nfs_sizes(const system::NfsFacts& nfs, Findings& findings) {
  constexpr std::uint64_t kSmall = 256 * kKi;
  if (nfs.read_size && *nfs.read_size < kSmall) {
    findings.push_back(
        {"nfs_read_size", kWarning, fmt::format("rsize={}", *nfs.read_size), "rsize=1048576",
         "drop rsize from the mount options, and look at what the server offers",
         fmt::format("NFS reads in requests of {}: each costs a round trip", format_size(*nfs.read_size))});
  }
  if (nfs.write_size && *nfs.write_size < kSmall) {
    findings.push_back({"nfs_write_size", kHint, fmt::format("wsize={}", *nfs.write_size), "wsize=1048576",
                        "drop wsize from the mount options", "NFS writes checkpoints in small requests"});
  }
}

void nfs_recovery(const system::NfsFacts& nfs, Findings& findings) {
  if (nfs.recovery != "hard") {
    findings.push_back({"nfs_soft", kWarning, nfs.recovery, "hard", "mount -o hard",
                        "a soft mount answers reads with EIO when the server is slow: jobs die or lose samples"});
  }
  if (!nfs.caches_attributes) {
    findings.push_back({"nfs_attributes", kWarning, "noac or actimeo=0", "attributes cached (actimeo=60 or more)",
                        "drop noac and actimeo=0 where the data does not change",
                        "every open and stat asks the server: millions of small files take hours"});
  }
  if (nfs.protocol == "udp") {
    findings.push_back({"nfs_udp", kWarning, "udp", "tcp or rdma", "mount -o proto=tcp",
                        "NFS over UDP loses whole requests with one packet"});
  }
}

void nfs_read_ahead(const Environment& environment, const system::NfsFacts& nfs, Findings& findings) {
  constexpr std::uint64_t kSmall = 128 * kKi;
  const auto read_ahead = environment.storage.read_ahead;
  if (!read_ahead || *read_ahead > kSmall) return;
  findings.push_back(
      {"nfs_read_ahead", kWarning, format_size(*read_ahead), "15 MiB (15 times rsize, as before Linux 5.4)",
       fmt::format("echo 15360 > /sys/class/bdi/{}/read_ahead_kb, or nfsrahead of nfs-utils by udev", nfs.device),
       "a sequential reader has at most one small request under way ahead of it"});
}

void nfs_health(const system::NfsFacts& nfs, Findings& findings) {
  constexpr double kMany = 0.001;
  constexpr double kSlow = 0.010;
  const double share =
      nfs.counters.operations == 0 ? 0 : static_cast<double>(nfs.counters.retransmissions) / static_cast<double>(nfs.counters.operations);
  if (share > kMany) {
    findings.push_back({"nfs_retransmissions", kHint, fmt::format("{:.2f} %", share * 100), "below 0.1 %",
                        "look for packet loss and for an overloaded server",
                        fmt::format("{} of {} requests were sent again since the mount",
                                    format_count(nfs.counters.retransmissions), format_count(nfs.counters.operations))});
  }
  if (nfs.read_round_trip.value_or(0) > kSlow) {
    findings.push_back({"nfs_round_trip", kHint, format_duration(*nfs.read_round_trip), "below 10 ms",
                        "more reads in flight hide it; the server's disks or queue may be the cause",
                        fmt::format("reads have waited {} for their answer, in the mean since the mount",
                                    format_duration(*nfs.read_round_trip))});
  }
}

void lustre(const Environment& environment, const system::LustreFacts& facts, Findings& findings) {
  constexpr std::uint64_t kLargeFile = std::uint64_t{4} << 30U;
  constexpr std::uint64_t kLittleAhead = std::uint64_t{64} << 20U;
  const bool whole_file = facts.striped == environment.path;
  if (facts.stripe_count == 1U && whole_file && environment.file_size.value_or(0) >= kLargeFile) {
    findings.push_back({"lustre_stripes", kHint, "1 storage target", "4 to 8 for files above 4 GiB",
                        "lfs setstripe -c 4 on the folder, then copy the file anew",
                        "a large file lies on one storage target, whose rate is all it can give"});
  }
  if (facts.read_requests_in_flight.value_or(64) <= 8) {
    findings.push_back({"lustre_requests", kHint, fmt::format("{}", *facts.read_requests_in_flight),
                        "16 to 64 on fast networks", "lctl set_param osc.*.max_rpcs_in_flight=32",
                        "few requests may be under way to each storage target"});
  }
  if (facts.read_ahead_per_file.value_or(kLittleAhead) < kLittleAhead) {
    findings.push_back({"lustre_read_ahead", kHint, format_size(*facts.read_ahead_per_file), "64 MiB or more",
                        "lctl set_param llite.*.max_read_ahead_per_file_mb=64",
                        "the client reads little ahead of a sequential reader"});
  }
}

void fuse(const Environment& environment, const system::FuseFacts& facts, Findings& findings) {
  constexpr std::uint64_t kSmall = 128 * kKi;
  if (facts.kind == system::FuseKind::remote_shell) {
    findings.push_back({"sshfs", kWarning, facts.client, "NFS, an object store, or staged data",
                        "stage the data to a local disk",
                        "SSHFS carries all data through one encrypted connection and one program"});
  }
  if (facts.kind == system::FuseKind::object_store) {
    findings.push_back({"fuse_object_store", kHint, facts.client,
                        "20-100 ms to the first byte, 50-100 MB/s a connection",
                        "read shards, not single files; iobench read s3://... shows what the store itself gives",
                        fmt::format("{} serves an object store as files: each open costs requests", facts.client)});
  }
  if (facts.cache_limit == 0U) {
    findings.push_back({"juicefs_cache_off", kWarning, "0", "the size of the data set, on NVMe",
                        "juicefs mount --cache-size",
                        "nothing is cached on this node: every epoch comes from the store"});
  }
  if (environment.storage.read_ahead && *environment.storage.read_ahead <= kSmall && facts.kind != system::FuseKind::remote_shell) {
    findings.push_back({"fuse_read_ahead", kHint, format_size(*environment.storage.read_ahead), "1 MiB or more",
                        "read_ahead_kb of its /sys/class/bdi entry, if the client does not read ahead itself",
                        "the kernel asks the program behind the mount for small pieces"});
  }
}

void slow_network(const Environment& environment, Findings& findings) {
  constexpr double kGigabit = 1e9 / 8;
  const auto network = fastest_network(environment);
  if (!network || *network > kGigabit) return;
  findings.push_back({"network_slow", kWarning, format_rate(*network), "10 GbE: 1250 MB/s, 100 GbE: 12500 MB/s",
                      "stage the data to a local disk, or look whether the link came up at its full speed",
                      fmt::format("the data comes over a network of {}", format_rate(*network))});
}

}  // namespace

void judge_remote_storage(const Environment& environment, Findings& findings) {
  if (environment.nfs) {
    nfs_connections(environment, *environment.nfs, findings);
    nfs_sizes(*environment.nfs, findings);
    nfs_recovery(*environment.nfs, findings);
    nfs_read_ahead(environment, *environment.nfs, findings);
    nfs_health(*environment.nfs, findings);
  }
  if (environment.lustre) lustre(environment, *environment.lustre, findings);
  if (environment.fuse) fuse(environment, *environment.fuse, findings);
  if (system::has_remote_cache(environment.storage.storage_class)) slow_network(environment, findings);
}

}  // namespace shardkit::bench
