#include "bench/env/shared_storage.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::bench {
namespace {

using SharedRule = FindingRule<Environment>;
constexpr std::uint64_t kSmallReadAhead = 128U << 10U;
constexpr std::uint64_t kAllTargets = 65535;

/// One TCP connection carries 1 to 2 GB/s at best; up to 10 Gb/s it is enough for bandwidth.
std::optional<std::string> one_connection(const Environment& environment, bool enough) {
  constexpr double kTenGigabit = 10e9 / 8;
  const system::NfsFacts& nfs = *environment.nfs;
  const bool one = std::max(nfs.connections, nfs.nconnect) <= 1 && nfs.protocol != "rdma" && nfs.protocol != "udp";
  const auto network = fastest_network(environment);
  return shown_if(one && (network && *network <= kTenGigabit) == enough, "nconnect=1");
}

constexpr const char* kMoreConnections =
    "mount -o nconnect=8 (kernel 5.3 or newer; the first mount of a server decides for all mounts)";
constexpr std::uint64_t kSmallRequest = 256U << 10U;

double sent_again(const system::NfsFacts& facts) {
  const system::NfsCounters nfs = facts.counters.value_or(system::NfsCounters{});
  return nfs.operations == 0 ? 0 : static_cast<double>(nfs.retransmissions) / static_cast<double>(nfs.operations);
}

/// 100 Gb/s or more.
bool has_fast_rdma(const Environment& environment) {
  constexpr double kFast = 100e9 / 8;
  return std::ranges::any_of(environment.rdma, [](const system::RdmaPort& port) {
    return port.state == "ACTIVE" && port.bytes_per_second.value_or(0) >= kFast;
  });
}

constexpr std::array kNfsRules{
    SharedRule{"nfs_nconnect", kWarning, "nconnect=8 to 16", kMoreConnections,
               "NFS is mounted with one connection; nconnect=8 or more allows several streams in parallel",
               [](const Environment& e) { return one_connection(e, false); }},
    SharedRule{"nfs_nconnect", kHint, "nconnect=8 to 16", kMoreConnections,
               "NFS is mounted with one connection; nconnect=8 or more allows several streams in parallel",
               [](const Environment& e) { return one_connection(e, true); }},
    SharedRule{"nfs_connections", kWarning, "as many as nconnect says",
               "unmount all mounts of this server first: the connections of its first mount serve them all",
               "{measured}: another mount of the same server has decided",
               [](const Environment& e) {
                 const system::NfsFacts& nfs = *e.nfs;
                 return shown_if(
                     nfs.connections < nfs.nconnect,
                     fmt::format("{}, nconnect={}", format_count(nfs.connections, "connection"), nfs.nconnect));
               }},
    SharedRule{"nfs_rdma", kHint, "rdma, if the server offers it", "mount -o proto=rdma,port=20049",
               "this node has RDMA, but NFS uses TCP, which costs CPU time for every byte",
               [](const Environment& e) { return shown_if(e.nfs->protocol == "tcp" && has_fast_rdma(e), "tcp"); }},
    SharedRule{"nfs_read_size", kWarning, "rsize=1048576",
               "remove rsize from the mount options, and check what the server offers",
               "NFS reads in requests of {request}: each costs a round trip",
               [](const Environment& e) {
                 const std::uint64_t size = e.nfs->read_size.value_or(kSmallRequest);
                 return shown_if(size < kSmallRequest, fmt::format("rsize={}", size));
               }},
    SharedRule{"nfs_write_size", kHint, "wsize=1048576", "remove wsize from the mount options",
               "NFS writes checkpoints in small requests",
               [](const Environment& e) {
                 const std::uint64_t size = e.nfs->write_size.value_or(kSmallRequest);
                 return shown_if(size < kSmallRequest, fmt::format("wsize={}", size));
               }},
    SharedRule{"nfs_soft", kWarning, "hard", "mount -o hard",
               "a soft mount answers reads with EIO if the server is slow: jobs fail or lose samples",
               [](const Environment& e) { return shown_if(e.nfs->recovery != "hard", e.nfs->recovery); }},
    SharedRule{"nfs_attributes", kWarning, "attributes cached (actimeo=60 or more)",
               "remove noac and actimeo=0 if the data does not change",
               "every open and stat asks the server: millions of small files take hours",
               [](const Environment& e) { return shown_if(!e.nfs->caches_attributes, "noac or actimeo=0"); }},
    SharedRule{"nfs_udp", kWarning, "tcp or rdma", "mount -o proto=tcp",
               "NFS over UDP loses whole requests with one packet",
               [](const Environment& e) { return shown_if(e.nfs->protocol == "udp", "udp"); }},
    SharedRule{"nfs_read_ahead", kWarning, "15 MiB (15 times rsize, as before Linux 5.4)",
               "echo 15360 > /sys/class/bdi/{bdi}/read_ahead_kb, or nfsrahead of nfs-utils by udev",
               "a sequential reader has at most one small read-ahead request in flight",
               [](const Environment& e) {
                 const auto read_ahead = e.storage.read_ahead;
                 return shown_if(read_ahead && *read_ahead <= kSmallReadAhead, format_size(read_ahead.value_or(0)));
               }},
    SharedRule{"nfs_retransmissions", kHint, "below 0.1 %", "check for packet loss and an overloaded server",
               "{resent} of {requests} requests were retransmitted since the mount",
               [](const Environment& e) {
                 return shown_if(sent_again(*e.nfs) > 0.001, fmt::format("{:.2f} %", sent_again(*e.nfs) * 100));
               }},
    SharedRule{"nfs_round_trip", kHint, "below 10 ms",
               "more reads in flight hide the latency; the cause may be the server's disks or queue",
               "the mean time of a read since the mount is {measured}",
               [](const Environment& e) {
                 const double seconds = e.nfs->read_round_trip.value_or(0);
                 return shown_if(seconds > 0.010, format_duration(seconds));
               }},
};

constexpr std::array kLustreRules{
    SharedRule{"lustre_stripes", kHint, "4 to 8 for files above 4 GiB",
               "lfs setstripe -c 4 on the folder, then copy the file again",
               "a large file is on one storage target, which limits its rate",
               [](const Environment& e) {
                 const bool whole_file = e.lustre->striped == e.path;
                 const bool large = e.file_size.value_or(0) >= std::uint64_t{4} << 30U;
                 return shown_if(e.lustre->stripe_count == 1U && whole_file && large, "1 storage target");
               }},
    SharedRule{"lustre_wide", kHint, "1 for shards below 4 GiB",
               "lfs setstripe -c 1 on the folder, then copy the shards again",
               "a shard is spread over {measured}: each open asks all of them, and one slow target delays every shard",
               [](const Environment& e) {
                 const system::LustreFacts& lustre = *e.lustre;
                 const std::uint64_t targets = lustre.stripe_count.value_or(1);
                 const bool small = lustre.striped_size && *lustre.striped_size < std::uint64_t{4} << 30U;
                 const bool reaches = small && *lustre.striped_size > lustre.last_start;
                 return shown_if(targets > 8 && reaches, targets == kAllTargets
                                                             ? "all storage targets"
                                                             : format_count(targets, "storage target"));
               }},
    SharedRule{"lustre_narrow_start", kHint, "a last part that starts below the size of a shard",
               "lfs setstripe -E 1G -c 1 -E -1 -c 4 on the folder, then copy the file again",
               "the progressive layout has one target up to {measured}: this large file is on few of them",
               [](const Environment& e) {
                 const system::LustreFacts& lustre = *e.lustre;
                 const bool large = lustre.striped_size.value_or(0) >= std::uint64_t{4} << 30U;
                 return shown_if(large && *lustre.striped_size <= lustre.last_start, format_size(lustre.last_start));
               }},
    SharedRule{"lustre_requests", kHint, "16 to 64 on fast networks", "lctl set_param osc.*.max_rpcs_in_flight=32",
               "few requests may be in flight to each storage target",
               [](const Environment& e) {
                 const std::uint64_t requests = e.lustre->read_requests_in_flight.value_or(64);
                 return shown_if(requests <= 8, fmt::to_string(requests));
               }},
    SharedRule{"lustre_read_ahead", kHint, "64 MiB or more", "lctl set_param llite.*.max_read_ahead_per_file_mb=64",
               "the client reads only a little ahead of a sequential reader",
               [](const Environment& e) {
                 constexpr std::uint64_t kLittle = std::uint64_t{64} << 20U;
                 const std::uint64_t bytes = e.lustre->read_ahead_per_file.value_or(kLittle);
                 return shown_if(bytes < kLittle, format_size(bytes));
               }},
};

/// GPFS keeps data in memory of its own, not in the page cache, and reads ahead as much as maxMBpS says.
constexpr std::array kGpfsRules{
    SharedRule{"gpfs_pagepool", kWarning, "8 GiB or more",
               "mmchconfig pagepool=16G -N NODECLASS, then restart GPFS there",
               "GPFS caches and reads ahead in {measured} on this node: many readers push each other's data out",
               [](const Environment& e) {
                 constexpr std::uint64_t kLittle = std::uint64_t{4} << 30U;
                 const std::uint64_t bytes = e.gpfs->pagepool.value_or(kLittle);
                 return shown_if(bytes < kLittle, format_size(bytes));
               }},
    SharedRule{"gpfs_prefetch", kHint, "twice the rate of the network", "mmchconfig maxMBpS=24000 -i -N NODECLASS",
               "GPFS reads ahead for {measured}, which is less than the network of this node carries",
               [](const Environment& e) {
                 const auto network = fastest_network(e);
                 const auto rate = e.gpfs->prefetch_rate;
                 return shown_if(rate && network && *rate < *network, format_rate(rate.value_or(0)));
               }},
    SharedRule{"gpfs_prefetch_off", kWarning, "72, the default", "mmchconfig prefetchThreads=72, then restart GPFS",
               "GPFS has few threads that read ahead: sequential readers wait for each block",
               [](const Environment& e) {
                 const std::uint64_t threads = e.gpfs->prefetch_threads.value_or(72);
                 return shown_if(threads < 24, format_count(threads, "thread"));
               }},
};

constexpr std::array kFuseRules{
    SharedRule{
        "sshfs", kWarning, "NFS, an object store, or staged data", "stage the data to a local disk",
        "SSHFS sends all data through one encrypted connection and one program",
        [](const Environment& e) { return shown_if(e.fuse->kind == system::FuseKind::remote_shell, e.fuse->client); }},
    SharedRule{
        "fuse_object_store", kHint, "20-100 ms to the first byte, 50-100 MB/s per connection",
        "read shards instead of single files; `iobench read s3://...` measures the store itself",
        "{measured} presents an object store as files: each open costs requests",
        [](const Environment& e) { return shown_if(e.fuse->kind == system::FuseKind::object_store, e.fuse->client); }},
    SharedRule{"juicefs_cache_off", kWarning, "the size of the data set, on NVMe", "juicefs mount --cache-size",
               "nothing is cached on this node: every epoch reads from the store",
               [](const Environment& e) { return shown_if(e.fuse->cache_limit == 0U, "0"); }},
    SharedRule{"fuse_read_ahead", kHint, "1 MiB or more",
               "read_ahead_kb of its /sys/class/bdi entry, unless the client reads ahead itself",
               "the kernel requests small blocks from the program behind the mount",
               [](const Environment& e) {
                 const auto read_ahead = e.storage.read_ahead;
                 const bool small = read_ahead && *read_ahead <= kSmallReadAhead;
                 return shown_if(small && e.fuse->kind != system::FuseKind::remote_shell,
                                 format_size(read_ahead.value_or(0)));
               }},
};

constexpr std::array kNetworkRules{
    SharedRule{"network_slow", kWarning, "10 GbE: 1250 MB/s, 100 GbE: 12500 MB/s",
               "stage the data to a local disk, or check whether the link runs at its full speed",
               "the network to the storage has only {measured}",
               [](const Environment& e) {
                 constexpr double kGigabit = 1e9 / 8;
                 const auto network = fastest_network(e);
                 return shown_if(network && *network <= kGigabit, format_rate(network.value_or(0)));
               }},
};

}  // namespace

void judge_shared_storage(const Environment& environment, std::vector<MachineFinding>& findings) {
  const system::NfsFacts nfs = environment.nfs.value_or(system::NfsFacts{});
  const system::NfsCounters counters = nfs.counters.value_or(system::NfsCounters{});
  const auto judge = [&](std::span<const SharedRule> rules) {
    add_findings(rules, environment, findings, fmt::arg("bdi", nfs.device),
                 fmt::arg("request", format_size(nfs.read_size.value_or(0))),
                 fmt::arg("resent", format_count(counters.retransmissions)),
                 fmt::arg("requests", format_count(counters.operations)));
  };
  if (environment.nfs) judge(kNfsRules);
  if (environment.lustre) judge(kLustreRules);
  if (environment.gpfs) judge(kGpfsRules);
  if (environment.fuse) judge(kFuseRules);
  if (system::has_remote_cache(environment.storage.storage_class)) judge(kNetworkRules);
}

}  // namespace shardkit::bench
