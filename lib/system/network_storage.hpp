#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

namespace shardkit::system {

/// The counters of an NFS mount's client since the mount: /proc/self/mountstats, "per-op statistics", whose columns
/// net/sunrpc/stats.c of the kernel names.
struct NfsCounters {
  std::uint64_t operations = 0;       ///< requests of all kinds
  std::uint64_t retransmissions = 0;  ///< requests that were sent again
  std::uint64_t timeouts = 0;         ///< requests that had no answer in time
  double round_trip_seconds = 0;      ///< summed over all requests, from sending to answer
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;  ///< received for reads, including headers
  double read_round_trip_seconds = 0;
};

/// An NFS mount: its options, and its client's counters since the mount (/proc/self/mountstats, nfs(5)).
struct NfsFacts {
  std::string device;             ///< "0:53", its number in /sys/class/bdi
  std::string version;            ///< "3", "4.1", ...
  std::string protocol;           ///< "tcp", "rdma", "udp"
  std::uint64_t nconnect = 1;     ///< of the options; the kernel leaves it out if it is 1
  std::uint64_t connections = 1;  ///< those that mountstats lists, else nconnect
  std::optional<std::uint64_t> read_size;
  std::optional<std::uint64_t> write_size;
  std::string recovery;  ///< "hard", "soft", "softerr"
  bool caches_attributes = true;
  std::optional<NfsCounters> counters;    ///< empty if the kernel does not list this mount
  std::optional<double> read_round_trip;  ///< mean seconds from request to answer; empty before the first read

  void describe(FieldList& v) {
    v.field({"device", "its number in /sys/class/bdi"}, device);
    v.field({"version", "version of the protocol"}, version);
    v.field({"protocol", "transport protocol"}, protocol);
    v.field({"connections", Unit::count, "connections to the server"}, connections);
    v.field({"read_size", Unit::bytes, "largest read request in bytes (rsize)"}, read_size);
    v.field({"write_size", Unit::bytes, "largest write request in bytes (wsize)"}, write_size);
    v.field({"recovery", "hard: waits for an unreachable server; soft: gives up"}, recovery);
    v.field({"caches_attributes", "false with noac or actimeo=0"}, caches_attributes);
    const auto counted = [&](std::uint64_t NfsCounters::*part) {
      return counters ? std::optional((*counters).*part) : std::nullopt;
    };
    auto operations = counted(&NfsCounters::operations);
    auto retransmissions = counted(&NfsCounters::retransmissions);
    auto timeouts = counted(&NfsCounters::timeouts);
    v.field({"operations", Unit::count, "requests since it was mounted"}, operations);
    v.field({"retransmissions", Unit::count, "requests retransmitted"}, retransmissions);
    v.field({"timeouts", Unit::count, "requests that timed out"}, timeouts);
    v.field({"read_round_trip", Unit::seconds, "mean time from a read request to its answer"}, read_round_trip);
  }
};

NfsFacts read_nfs(const Mount& mount, const Probe& probe);

/// Empty if the kernel does not list this mount.
std::optional<NfsCounters> read_nfs_counters(const Mount& mount, const Probe& probe);

/// How Lustre spreads a file over its storage targets (the extended attribute lustre.lov; struct lov_user_md and
/// lov_comp_md_v1 of lustre_user.h).
struct LustreLayout {
  std::uint64_t stripe_count = 0;  ///< of the last component; 65535 means all targets
  std::uint64_t stripe_size = 0;   ///< in bytes
  std::uint64_t components = 1;    ///< more than 1 for a progressive layout
  std::uint64_t last_start = 0;    ///< offset in the file at which the last component starts
};

/// Empty for bytes that are not a known layout.
std::optional<LustreLayout> parse_lustre_layout(std::string_view bytes);

/// The settings of a Lustre mount's client. Empty members could not be read: only the superuser sees many of them.
struct LustreFacts {
  std::optional<std::uint64_t> stripe_count;
  std::optional<std::uint64_t> stripe_size;
  std::optional<std::uint64_t> components;
  std::uint64_t last_start = 0;               ///< of the layout
  std::optional<std::uint64_t> striped_size;  ///< bytes of `striped`, if that is a file
  std::string striped;  ///< path of this layout: the path itself, or the first entry of the folder that has one
  std::optional<std::uint64_t> read_requests_in_flight;  ///< osc.*.max_rpcs_in_flight, the least of all targets
  std::optional<std::uint64_t> pages_per_request;        ///< osc.*.max_pages_per_rpc, the least
  std::optional<std::uint64_t> read_ahead;               ///< llite max_read_ahead_mb, in bytes
  std::optional<std::uint64_t> read_ahead_per_file;      ///< llite max_read_ahead_per_file_mb
  std::optional<std::uint64_t> checksums;                ///< osc.*.checksums: 1 if data is checked on the wire

  void describe(FieldList& v) {
    v.field({"stripe_count", Unit::count, "storage targets of a file; 65535: all"}, stripe_count);
    v.field({"stripe_size", Unit::bytes, "bytes on one target before the next one"}, stripe_size);
    v.field({"components", Unit::count, "parts of a progressive layout"}, components);
    v.field({"striped", "file or folder with this layout"}, striped);
    v.field({"read_requests_in_flight", Unit::count, "max_rpcs_in_flight of each target"}, read_requests_in_flight);
    v.field({"pages_per_request", Unit::count, "max_pages_per_rpc"}, pages_per_request);
    v.field({"read_ahead", Unit::bytes, "max_read_ahead_mb of the mount"}, read_ahead);
    v.field({"read_ahead_per_file", Unit::bytes, "max_read_ahead_per_file_mb"}, read_ahead_per_file);
    v.field({"checksums", "1 if data is checksummed on the wire, which costs CPU time"}, checksums);
  }
};

LustreFacts read_lustre(const Mount& mount, const std::string& path, const Probe& probe);

/// The settings of this node's GPFS (IBM Storage Scale), of /var/mmfs/gen/mmfs.cfg: those of all nodes, which stand
/// before the first line of a node class. Empty members are not set there, or the file cannot be read.
struct GpfsFacts {
  std::optional<std::uint64_t> pagepool;
  std::optional<double> prefetch_rate;
  std::optional<std::uint64_t> prefetch_threads;

  void describe(FieldList& v) {
    v.field({"pagepool", Unit::bytes, "memory that it caches data in"}, pagepool);
    v.field({"prefetch_rate", Unit::bytes_per_second, "rate that it reads ahead for (maxMBpS)"}, prefetch_rate);
    v.field({"prefetch_threads", Unit::count, "threads that read ahead (prefetchThreads)"}, prefetch_threads);
  }
};

GpfsFacts read_gpfs(const Probe& probe);

/// The storage behind a file system that a program serves.
enum class FuseKind { unknown, object_store, remote_shell, cluster, cache };
constexpr auto enum_names(FuseKind) {
  return std::to_array<std::string_view>({"", "object store", "remote shell", "cluster", "cache"});
}

/// A file system that a program serves through FUSE.
struct FuseFacts {
  std::string client;  ///< "JuiceFS", "s3fs", ...; the type of the mount if the program is unknown
  FuseKind kind = FuseKind::unknown;
  std::vector<std::string> cache_folders;    ///< of JuiceFS, if they can be read
  std::optional<std::uint64_t> cache_limit;  ///< capacity in bytes
  std::optional<std::uint64_t> cached;       ///< bytes stored
  std::optional<double> cache_hit_ratio;     ///< bytes from the cache, divided by all bytes read since the mount

  void describe(FieldList& v) {
    v.field({"client", "program that serves the mount"}, client);
    v.field({"kind", "kind of storage behind the mount"}, kind);
    v.field({"cache_folders", "cache folder of JuiceFS on this node"}, cache_folders);
    v.field({"cache_limit", Unit::bytes, "limit of that cache"}, cache_limit);
    v.field({"cached", Unit::bytes, "bytes in that cache"}, cached);
    v.field({"cache_hit_ratio", Unit::ratio, "share of the bytes read since the mount that came from the cache"},
            cache_hit_ratio);
  }
};

/// The kind of a FUSE mount, by its type and source; unknown for those of this machine (fuse-overlayfs) and of programs
/// that are not in the table.
FuseKind fuse_kind(const std::string& type, const std::string& source);

/// Reads the facts about JuiceFS's cache from its control files .config and .stats and from the command line of its
/// process, if this user may read them.
FuseFacts read_fuse(const Mount& mount, const Probe& probe);

/// The processes that serve the FUSE file system at `mount_point` (rclone, JuiceFS, gcsfuse, ...): those that have
/// /dev/fuse open, and whose fdinfo names the mount's device (Linux 6.16). On older kernels, the one whose command line
/// names the mount point, or the only one if there is only one FUSE mount. Empty if none can be recognized, as in a
/// container or for another user's process.
std::vector<std::uint64_t> fuse_servers(const std::string& mount_point, const Probe& probe);

}  // namespace shardkit::system
