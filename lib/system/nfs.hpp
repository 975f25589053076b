#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/fields.hpp"
#include "system/mounts.hpp"
#include "system/probe.hpp"

namespace shardkit {

/// An NFS mount: its options, and what its client counted since it was mounted (/proc/self/mountstats, nfs(5)).
struct NfsFacts {
  std::string device;             ///< "0:53", its number in /sys/class/bdi
  std::string version;            ///< "3", "4.1", ...
  std::string protocol;           ///< "tcp", "rdma", "udp"
  std::uint64_t connections = 1;  ///< nconnect; the kernel leaves it out when it is 1
  std::optional<std::uint64_t> read_size;
  std::optional<std::uint64_t> write_size;
  std::string recovery;  ///< "hard", "soft", "softerr"
  bool caches_attributes = true;
  std::uint64_t operations = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t timeouts = 0;
  std::optional<double> read_round_trip;  ///< mean seconds from request to answer; empty before the first read

  void describe(FieldVisitor& v) {
    v.field({"device", Unit::none, "its number in /sys/class/bdi"}, device);
    v.field({"version", Unit::none, "version of the protocol"}, version);
    v.field({"protocol", Unit::none, "what carries it"}, protocol);
    v.field({"connections", Unit::count, "connections to the server (nconnect)"}, connections);
    v.field({"read_size", Unit::bytes, "most bytes of one read request (rsize)"}, read_size);
    v.field({"write_size", Unit::bytes, "most bytes of one write request (wsize)"}, write_size);
    v.field({"recovery", Unit::none, "hard waits for a server that is away, soft gives up"}, recovery);
    v.field({"caches_attributes", Unit::none, "false with noac or actimeo=0"}, caches_attributes);
    v.field({"operations", Unit::count, "requests since it was mounted"}, operations);
    v.field({"retransmissions", Unit::count, "requests that were sent again"}, retransmissions);
    v.field({"timeouts", Unit::count, "requests that had no answer in time"}, timeouts);
    v.field({"read_round_trip", Unit::seconds, "mean time from a read request to its answer"}, read_round_trip);
  }
};

NfsFacts read_nfs(const Mount& mount, const Probe& probe);

/// What the client of an NFS mount counted since it was mounted: /proc/self/mountstats, "per-op statistics", whose
/// columns net/sunrpc/stats.c of the kernel names.
struct NfsCounters {
  std::uint64_t operations = 0;       ///< requests of all kinds
  std::uint64_t retransmissions = 0;  ///< requests that were sent again
  std::uint64_t timeouts = 0;         ///< requests that had no answer in time
  double round_trip_seconds = 0;      ///< summed over all requests, from sending to answer
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;  ///< that came for reads, headers among them
  double read_round_trip_seconds = 0;
};

/// Empty where the kernel does not tell of this mount.
std::optional<NfsCounters> read_nfs_counters(const Mount& mount, const Probe& probe);

}  // namespace shardkit
