#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/env/env.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

using Findings = std::vector<Finding>;
using Rule = FindingRule<Environment>;
using system::StorageClass;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;
constexpr std::uint64_t kKi = 1024;
constexpr std::array<std::string_view, 8> kPseudoTypes{"proc",   "sysfs",   "cgroup",  "cgroup2",
                                                       "devpts", "debugfs", "tracefs", "securityfs"};

bool contains(std::span<const std::string> options, std::string_view option) {
  return std::ranges::find(options, option) != options.end();
}

bool lies_in_layer(const Environment& environment) {
  return environment.storage.storage_class == StorageClass::overlay;
}

/// The kernel shows relatime and noatime and says nothing for strictatime.
bool writes_access_times(const system::StorageFacts& storage) {
  const bool on_disk = !storage.device.empty() && storage.storage_class != StorageClass::memory;
  return on_disk && !storage.options.empty() && !contains(storage.options, "ro") &&
         !contains(storage.options, "relatime") && !contains(storage.options, "noatime");
}

constexpr std::array kStorageRules{
    Rule{"pseudo_file_system", kWarning, "a file system that stores data", "name the data's folder",
         "{path} lies on {measured}, whose files the kernel makes up",
         [](const Environment& e) {
           const std::string& type = e.storage.file_system;
           return shown_if(std::ranges::find(kPseudoTypes, type) != kPseudoTypes.end(), type);
         }},
    Rule{"data_in_memory", kWarning, "a disk, where a disk is to be measured",
         "copy it to a disk to measure that; for training it is as fast as can be",
         "the data lies on {measured}, which is memory: no disk is measured",
         [](const Environment& e) {
           const system::StorageFacts& storage = e.storage;
           return shown_if(storage.storage_class == StorageClass::memory,
                           storage.file_system.empty() ? storage.device : storage.file_system);
         }},
    Rule{"data_in_container_layer", kWarning, "a volume or bind mount",
         "docker -v /data:/data, or a volume of Kubernetes",
         "the data lies in the container's own layers (overlay): it is copied on write and its cache state cannot be "
         "seen",
         [](const Environment& e) { return shown_if(lies_in_layer(e) && !e.kernel.container.empty(), "overlay"); }},
    Rule{"data_in_container_layer", kWarning, "a volume or bind mount",
         "docker -v /data:/data, or a volume of Kubernetes",
         "the data lies on layers over another file system (overlay): it is copied on write and its cache state cannot "
         "be seen",
         [](const Environment& e) { return shown_if(lies_in_layer(e) && e.kernel.container.empty(), "overlay"); }},
    Rule{
        "hdd", kWarning, "NVMe: 3000-7000 MB/s; this class: 150-250 MB/s",
        "read whole shards in sequence with few readers, or stage to NVMe",
        "the data lies on a spinning disk: 100 to 200 random reads a second, whatever their size",
        [](const Environment& e) { return shown_if(e.storage.storage_class == StorageClass::hdd, "a spinning disk"); }},
    Rule{"strictatime", kWarning, "relatime, or noatime", "mount -o remount,relatime {mount}",
         "the mount option strictatime writes to disk for every file read",
         [](const Environment& e) { return shown_if(writes_access_times(e.storage), "strictatime"); }},
    Rule{"read_ahead_off", kHint, "128 KiB or more", "blockdev --setra 256 /dev/{device}",
         "the kernel reads nothing ahead on this device: sequential readers wait for each block",
         [](const Environment& e) { return shown_if(!e.storage.device.empty() && e.storage.read_ahead == 0U, "0"); }},
    // A fair scheduler costs processor time at rates of flash.
    Rule{"scheduler", kHint, "none", "echo none > /sys/block/{disk}/queue/scheduler",
         "the scheduler bfq limits an NVMe drive to a few 100,000 reads a second",
         [](const Environment& e) {
           const auto& drive = e.block_device;
           return shown_if(drive && drive->storage_class == StorageClass::nvme && drive->scheduler == "bfq", "bfq");
         }},
    Rule{
        "loop_device", kHint, "a file system on the disk itself",
        "fine for squashfs images; for measurements use the disk below",
        "the data lies in a file that is mounted: it may be cached twice",
        [](const Environment& e) { return shown_if(e.storage.storage_class == StorageClass::loop, e.storage.device); }},
    Rule{"storage_unknown", kHint, "listed in /proc/self/mountinfo", "run it outside of the chroot or container too",
         "it cannot be seen what {path} lies on",
         [](const Environment& e) {
           return shown_if(e.storage.file_system.empty() && e.storage.device.empty(), "unknown");
         }},
};

/// One TCP connection carries 1 to 2 GB/s at best; up to 10 Gb/s it is enough for bandwidth.
std::optional<std::string> one_connection(const Environment& environment, bool enough) {
  constexpr double kTenGigabit = 10e9 / 8;
  const system::NfsFacts& nfs = *environment.nfs;
  const bool one = nfs.connections <= 1 && nfs.protocol != "rdma" && nfs.protocol != "udp";
  const auto network = fastest_network(environment);
  return shown_if(one && (network && *network <= kTenGigabit) == enough, "nconnect=1");
}

constexpr const char* kMoreConnections =
    "mount -o nconnect=8 (kernel 5.3 or newer; the first mount of a server decides for all)";
constexpr std::uint64_t kSmallRequest = 256 * kKi;

double sent_again(const system::NfsCounters& nfs) {
  return nfs.operations == 0 ? 0 : static_cast<double>(nfs.retransmissions) / static_cast<double>(nfs.operations);
}

constexpr std::array kNfsRules{
    Rule{"nfs_nconnect", kWarning, "nconnect=8 to 16", kMoreConnections,
         "NFS is mounted with one connection; nconnect=8 or more lets several streams run",
         [](const Environment& e) { return one_connection(e, false); }},
    Rule{"nfs_nconnect", kHint, "nconnect=8 to 16", kMoreConnections,
         "NFS is mounted with one connection; nconnect=8 or more lets several streams run",
         [](const Environment& e) { return one_connection(e, true); }},
    Rule{"nfs_read_size", kWarning, "rsize=1048576",
         "drop rsize from the mount options, and look at what the server offers",
         "NFS reads in requests of {request}: each costs a round trip",
         [](const Environment& e) {
           const std::uint64_t size = e.nfs->read_size.value_or(kSmallRequest);
           return shown_if(size < kSmallRequest, fmt::format("rsize={}", size));
         }},
    Rule{"nfs_write_size", kHint, "wsize=1048576", "drop wsize from the mount options",
         "NFS writes checkpoints in small requests",
         [](const Environment& e) {
           const std::uint64_t size = e.nfs->write_size.value_or(kSmallRequest);
           return shown_if(size < kSmallRequest, fmt::format("wsize={}", size));
         }},
    Rule{"nfs_soft", kWarning, "hard", "mount -o hard",
         "a soft mount answers reads with EIO when the server is slow: jobs die or lose samples",
         [](const Environment& e) { return shown_if(e.nfs->recovery != "hard", e.nfs->recovery); }},
    Rule{"nfs_attributes", kWarning, "attributes cached (actimeo=60 or more)",
         "drop noac and actimeo=0 where the data does not change",
         "every open and stat asks the server: millions of small files take hours",
         [](const Environment& e) { return shown_if(!e.nfs->caches_attributes, "noac or actimeo=0"); }},
    Rule{"nfs_udp", kWarning, "tcp or rdma", "mount -o proto=tcp", "NFS over UDP loses whole requests with one packet",
         [](const Environment& e) { return shown_if(e.nfs->protocol == "udp", "udp"); }},
    Rule{"nfs_read_ahead", kWarning, "15 MiB (15 times rsize, as before Linux 5.4)",
         "echo 15360 > /sys/class/bdi/{bdi}/read_ahead_kb, or nfsrahead of nfs-utils by udev",
         "a sequential reader has at most one small request under way ahead of it",
         [](const Environment& e) {
           const auto read_ahead = e.storage.read_ahead;
           return shown_if(read_ahead && *read_ahead <= 128 * kKi, format_size(read_ahead.value_or(0)));
         }},
    Rule{"nfs_retransmissions", kHint, "below 0.1 %", "look for packet loss and for an overloaded server",
         "{resent} of {requests} requests were sent again since the mount",
         [](const Environment& e) {
           return shown_if(sent_again(e.nfs->counters) > 0.001,
                           fmt::format("{:.2f} %", sent_again(e.nfs->counters) * 100));
         }},
    Rule{"nfs_round_trip", kHint, "below 10 ms",
         "more reads in flight hide it; the server's disks or queue may be the cause",
         "reads have waited {measured} for their answer, in the mean since the mount",
         [](const Environment& e) {
           const double seconds = e.nfs->read_round_trip.value_or(0);
           return shown_if(seconds > 0.010, format_duration(seconds));
         }},
};

constexpr std::array kLustreRules{
    Rule{"lustre_stripes", kHint, "4 to 8 for files above 4 GiB",
         "lfs setstripe -c 4 on the folder, then copy the file again",
         "a large file lies on one storage target, whose rate is all it can give",
         [](const Environment& e) {
           const bool whole_file = e.lustre->striped == e.path;
           const bool large = e.file_size.value_or(0) >= std::uint64_t{4} << 30U;
           return shown_if(e.lustre->stripe_count == 1U && whole_file && large, "1 storage target");
         }},
    Rule{"lustre_requests", kHint, "16 to 64 on fast networks", "lctl set_param osc.*.max_rpcs_in_flight=32",
         "few requests may be under way to each storage target",
         [](const Environment& e) {
           const std::uint64_t requests = e.lustre->read_requests_in_flight.value_or(64);
           return shown_if(requests <= 8, fmt::to_string(requests));
         }},
    Rule{"lustre_read_ahead", kHint, "64 MiB or more", "lctl set_param llite.*.max_read_ahead_per_file_mb=64",
         "the client reads little ahead of a sequential reader",
         [](const Environment& e) {
           constexpr std::uint64_t kLittle = std::uint64_t{64} << 20U;
           const std::uint64_t bytes = e.lustre->read_ahead_per_file.value_or(kLittle);
           return shown_if(bytes < kLittle, format_size(bytes));
         }},
};

constexpr std::array kFuseRules{
    Rule{"sshfs", kWarning, "NFS, an object store, or staged data", "stage the data to a local disk",
         "SSHFS carries all data through one encrypted connection and one program",
         [](const Environment& e) { return shown_if(e.fuse->kind == system::FuseKind::remote_shell, e.fuse->client); }},
    Rule{"fuse_object_store", kHint, "20-100 ms to the first byte, 50-100 MB/s a connection",
         "read shards, not single files; iobench read s3://... shows what the store itself gives",
         "{measured} serves an object store as files: each open costs requests",
         [](const Environment& e) { return shown_if(e.fuse->kind == system::FuseKind::object_store, e.fuse->client); }},
    Rule{"juicefs_cache_off", kWarning, "the size of the data set, on NVMe", "juicefs mount --cache-size",
         "nothing is cached on this node: every epoch comes from the store",
         [](const Environment& e) { return shown_if(e.fuse->cache_limit == 0U, "0"); }},
    Rule{"fuse_read_ahead", kHint, "1 MiB or more",
         "read_ahead_kb of its /sys/class/bdi entry, if the client does not read ahead itself",
         "the kernel asks the program behind the mount for small pieces",
         [](const Environment& e) {
           const auto read_ahead = e.storage.read_ahead;
           const bool small = read_ahead && *read_ahead <= 128 * kKi;
           return shown_if(small && e.fuse->kind != system::FuseKind::remote_shell,
                           format_size(read_ahead.value_or(0)));
         }},
};

constexpr std::array kNetworkRules{
    Rule{"network_slow", kWarning, "10 GbE: 1250 MB/s, 100 GbE: 12500 MB/s",
         "stage the data to a local disk, or look whether the link came up at its full speed",
         "the data comes over a network of {measured}",
         [](const Environment& e) {
           constexpr double kGigabit = 1e9 / 8;
           const auto network = fastest_network(e);
           return shown_if(network && *network <= kGigabit, format_rate(network.value_or(0)));
         }},
};

}  // namespace

void judge_storage(const Environment& environment, Findings& findings) {
  if (environment.path.empty()) return;
  const system::StorageFacts& storage = environment.storage;
  const system::NfsFacts nfs = environment.nfs.value_or(system::NfsFacts{});
  const auto judge = [&](std::span<const Rule> rules) {
    add_findings(rules, environment, findings, fmt::arg("path", environment.path),
                 fmt::arg("mount", storage.mount_point), fmt::arg("device", storage.device),
                 fmt::arg("disk", environment.block_device ? environment.block_device->disk : ""),
                 fmt::arg("bdi", nfs.device), fmt::arg("request", format_size(nfs.read_size.value_or(0))),
                 fmt::arg("resent", format_count(nfs.counters.retransmissions)),
                 fmt::arg("requests", format_count(nfs.counters.operations)));
  };
  judge(kStorageRules);
  if (environment.nfs) judge(kNfsRules);
  if (environment.lustre) judge(kLustreRules);
  if (environment.fuse) judge(kFuseRules);
  if (system::has_remote_cache(storage.storage_class)) judge(kNetworkRules);
}

}  // namespace shardkit::bench
