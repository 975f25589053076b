#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "system/clock.hpp"
#include "system/host.hpp"
#include "system/probe.hpp"

/// Leases: files that announce that a staged folder will be read although the process that staged it has exited
/// (formats.md, "Lease", version 1). As long as a lease is live, the folder is neither evicted nor replaced. Each
/// job has at most one, and one more for each running process that holds it. All times are UTC, to the second.
namespace shardkit::staging {

struct Lease {
  std::string owner;          ///< id of the job
  system::WallTime taken_at;  ///< or renewed
  system::WallTime expires_at;
  std::string holder = {};  ///< random name of the running process that renews it; empty: no process does

  bool operator==(const Lease&) const = default;
};

/// A file of a lease folder. An unreadable one counts as live, because it may belong to someone.
struct LeaseFile {
  std::string name;            ///< of the file
  std::optional<Lease> lease;  ///< empty: damaged
  std::string fault;           ///< the fault of a damaged one
  /// The process that renews it exists: it has the lock of the file. Also true where that cannot be known.
  bool is_held = false;

  bool lives_at(system::WallTime now) const { return !lease || now < lease->expires_at; }
};

/// "leased by job-7 until 2026-01-02T03:04:05Z", with ", which its `cache hold` renews" while that is running.
std::string describe(const LeaseFile& lease);

/// The file's text: JSON, indent 1, newline at the end.
std::string write_lease(const Lease& lease);
/// Throws Error{corrupt} for anything but a lease of this version. `path` is for messages.
Lease read_lease(std::string_view text, const std::string& path);

/// All leases of the staged folder `folder`, by file name; none if there is no such folder.
std::vector<LeaseFile> read_leases(const std::string& folder);

/// Publishes `lease`, replacing an older one of the same owner and holder. As long as a holder keeps the returned file,
/// others see that it is running. Throws the errors of publish().
std::unique_ptr<io::AtomicFile> take_lease(io::FileSystem& files, const std::string& folder, const Lease& lease);
/// The same, but an older one that expires later keeps its end, because another process of the job may need it. Returns
/// the lease as it is now. The caller has the shared lock of the folder.
Lease extend_lease(io::FileSystem& files, const std::string& folder, Lease lease);
/// What became of the leases of an owner.
struct Released {
  std::size_t ended = 0;
  std::size_t held = 0;  ///< those that stay because their holder is running
};

/// Ends the leases of an owner, also those of holders that were killed.
Released release_lease(io::FileSystem& files, const std::string& folder, const std::string& owner);
/// Ends the lease of a holder and, unless another holder of its owner is running, the owner's as well.
Released release_holder(io::FileSystem& files, const std::string& folder, const Lease& held);
/// Ends all that are wanted, which may be damaged; returns their number. To remove expired ones requires the exclusive
/// lock of the folder, because an owner may be renewing one. Throws Error{denied} after it has ended the others.
std::size_t remove_leases(io::FileSystem& files, const std::string& folder,
                          const std::function<bool(const LeaseFile&)>& is_wanted);

/// Whether one of these lives.
bool are_live(const std::vector<LeaseFile>& leases, system::WallTime now);

inline constexpr double kLongestLease = 100.0 * 366 * 86'400;  ///< seconds, so that its end can be written
/// The moment `seconds` from `now`, rounded up to whole seconds.
system::WallTime lease_end(system::WallTime now, double seconds);

/// The id of this job's leases: the pod's UID, else its namespace and name ("train/worker-0"), the Slurm job
/// ("slurm-<id>"), or in a pod both ("slurm-<id>@<pod>"). Empty if neither is known. The name of a pod or host alone
/// is not an id: pods in two namespaces, or with hostNetwork, share it.
std::string job_lease_id(const system::EnvironmentLookup& environment,
                         const std::string& kubelets_uid = system::pod_uid());
/// The `given` id, else that of this job. Throws Error{usage} for control characters, which no list of leases could
/// show and no command repeat.
std::string lease_id_of(const std::string& given, const system::EnvironmentLookup& environment);
/// "lease-" and twelve random digits.
std::string random_lease_id();

/// The option of verbs that take a lease.
inline constexpr Field kLeaseIdOption{"lease-id",
                                      "id of the job that the lease belongs to; default: the pod's UID, the Slurm job "
                                      "(slurm-<id>), or a random id, which "
                                      "is printed",
                                      "ID", Misnomers{"owner purpose"}};

}  // namespace shardkit::staging
