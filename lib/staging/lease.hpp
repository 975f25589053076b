#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.hpp"
#include "system/clock.hpp"
#include "system/probe.hpp"

/// Leases: files that announce that a staged folder will be read although the process that staged it has exited
/// (formats.md, "Lease", version 1). As long as a lease is live, the folder is neither evicted nor replaced. Each
/// owner has at most one; taking it again replaces it. All times are UTC, to the second.
namespace shardkit::staging {

struct Lease {
  std::string owner;
  std::string purpose;
  system::WallTime taken_at;
  system::WallTime expires_at;

  bool operator==(const Lease&) const = default;
};

/// A file of a lease folder. An unreadable one counts as live, because it may belong to someone.
struct LeaseFile {
  std::string name;            ///< of the file
  std::optional<Lease> lease;  ///< empty: damaged
  std::string fault;           ///< the fault of a damaged one

  bool lives_at(system::WallTime now) const { return !lease || now < lease->expires_at; }
};

/// "leased by job-7 (training) until 2026-01-02T03:04:05Z"
std::string describe(const LeaseFile& lease);

/// The file's text: JSON, indent 1, newline at the end.
std::string write_lease(const Lease& lease);
/// Throws Error{corrupt} for anything but a lease of this version. `path` is for messages.
Lease read_lease(std::string_view text, const std::string& path);

/// All leases of the staged folder `folder`, by file name; none if there is no such folder.
std::vector<LeaseFile> read_leases(const std::string& folder);

/// Publishes `lease`, replacing an older one of the same owner. Throws the errors of publish().
void take_lease(io::FileSystem& files, const std::string& folder, const Lease& lease);
/// False if the owner has none.
bool release_lease(io::FileSystem& files, const std::string& folder, const std::string& owner);
/// Ends all, including damaged ones; returns their number.
std::size_t release_all_leases(io::FileSystem& files, const std::string& folder);
/// Removes expired leases; returns their number. Requires the exclusive lock of the folder, because an owner may be
/// renewing one.
std::size_t remove_ended_leases(io::FileSystem& files, const std::string& folder, system::WallTime now);

/// The owner of this process's leases: the pod (POD_NAME, or in Kubernetes HOSTNAME), the Slurm job ("slurm-<id>"),
/// else "user@host".
std::string default_lease_owner(const system::EnvironmentLookup& environment);

}  // namespace shardkit::staging
