#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.hpp"
#include "system/clock.hpp"
#include "system/probe.hpp"

/// Leases: files that say that somebody will read a staged folder although the process that staged it is gone
/// (docs/formats.md, "Lease", version 1). While one lives the folder is neither evicted nor replaced. There is one for
/// each owner; to take it again replaces it. All times are UTC and kept to the second.
namespace shardkit::staging {

struct Lease {
  std::string owner;
  std::string purpose;
  system::WallTime taken_at;
  system::WallTime expires_at;

  bool operator==(const Lease&) const = default;
};

/// A file of a lease folder. One that cannot be read as a lease counts as one that lives: it may be somebody's.
struct LeaseFile {
  std::string name;            ///< of the file
  std::optional<Lease> lease;  ///< empty: damaged
  std::string fault;           ///< what is wrong with a damaged one

  bool lives_at(system::WallTime now) const { return !lease || now < lease->expires_at; }
};

/// "leased by job-7 (training) until 2026-01-02T03:04:05Z"
std::string describe(const LeaseFile& lease);

/// The file's text: JSON, indent 1, newline at the end.
std::string write_lease(const Lease& lease);
/// Throws Error{corrupt} for anything but a lease of this version. `path` is for messages.
Lease read_lease(std::string_view text, const std::string& path);

/// All leases of the staged folder `folder`, by file name; none where there is no such folder.
std::vector<LeaseFile> read_leases(const std::string& folder);

/// Publishes `lease` in the place of an older one of the same owner. Throws what publish() throws.
void take_lease(io::FileSystem& files, const std::string& folder, const Lease& lease);
/// False when the owner has none.
bool release_lease(io::FileSystem& files, const std::string& folder, const std::string& owner);
/// Ends all, damaged ones too; how many there were.
std::size_t release_all_leases(io::FileSystem& files, const std::string& folder);
/// Removes leases that have ended; how many. Only for who holds the folder alone: an owner may be renewing his.
std::size_t remove_ended_leases(io::FileSystem& files, const std::string& folder, system::WallTime now);

/// Whose leases this process takes and ends: the pod (POD_NAME, or in Kubernetes HOSTNAME), the Slurm job
/// ("slurm-<id>"), else "user@host".
std::string default_lease_owner(const system::EnvironmentLookup& environment);

}  // namespace shardkit::staging
