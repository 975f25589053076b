#include "dataset/cache/cache_lease.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/node_cache.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kMostRefusalsNamed = 5;

std::string id_of(const std::string& given) { return staging::lease_id_of(given, system::process_environment()); }

/// "there was no lease of 'job-7' in '/cache'"; without a known job, with a live lease that may be meant.
std::string no_lease(const std::string& id, const std::string& where,
                     const std::vector<staging::StagedFolder>& folders) {
  std::string text = fmt::format("there was no lease{} in '{}'", id.empty() ? "" : fmt::format(" of '{}'", id), where);
  const system::WallTime now = system::system_clock().now();
  const auto leased = std::ranges::find_if(folders, [&](const auto& folder) { return folder.is_leased(now); });
  if (!id.empty() || leased == folders.end()) return text;
  return fmt::format(
      "{} of this process, which belongs to no pod and no Slurm job; give --lease-id as printed by "
      "stage: {}",
      text, staging::describe_use(*leased, now));
}

Error not_released(const CacheReleaseResult& result, std::uint64_t failed, const std::string& refusals,
                   const std::string& folder) {
  return Error(ErrorCode::denied, At{folder},
               "{} ended, but in {} leases could not be ended: {}; their owners or root can end them where the cache "
               "is not mounted "
               "read-only",
               format_count(result.released, "lease"), format_count(failed, "folder"), refusals);
}

/// The lock with which no other process evicts or replaces the folder.
io::FolderLock shared_lock(const std::string& folder, const std::stop_token& stop) {
  io::FolderLock lock(io::join_path(folder, staging::kStageLockPath));
  while (!lock.try_take(io::LockMode::shared)) io::wait_for_lock(folder, stop);
  return lock;
}

}  // namespace

CacheReleaseResult cache_release(const CacheReleaseOptions& options, Context& context) {
  if (options.all && !options.lease_id.empty())
    throw Error(ErrorCode::usage, "--all and --lease-id exclude each other");
  CacheReleaseResult result;
  std::uint64_t failed = 0;
  std::string refusals;
  const auto files = io::posix_file_system();
  const auto folders = cache_folders(options.folder, context);
  if (!options.all) result.owner = id_of(options.lease_id);
  for (const staging::StagedFolder& folder : folders) {
    context.throw_if_stopped();
    ++result.folders;
    if (!options.all && result.owner.empty()) continue;
    try {
      if (options.all) {
        result.released += staging::remove_leases(*files, folder.path, [](const auto&) { return true; });
      } else {
        const staging::Released released = staging::release_lease(*files, folder.path, result.owner);
        result.released += released.ended;
        result.held += released.held;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied) throw;
      if (failed++ < kMostRefusalsNamed) refusals += (refusals.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (failed > 0) throw not_released(result, failed, refusals, options.folder);
  if (result.released == 0) {
    context.warn("no_lease",
                 no_lease(result.owner, options.folder, options.all ? std::vector<staging::StagedFolder>() : folders));
  }
  return result;
}

namespace {

/// A lease in the folder of a cache would protect none of its sets.
void refuse_cache(const std::string& folder, Context& context) {
  staging::require_local_folder(folder, context);
  if (!std::filesystem::is_directory(folder) || staging::look_at_staged(folder)) return;
  const auto sets = staging::staged_folders(folder, context.stop_token());
  if (sets.empty()) return;  // its stage has not begun
  throw Error(ErrorCode::usage, At{folder},
              "'{}' is a cache of several sets; give the folder of each set, such as '{}'", folder, sets.front().path);
}

/// Throws if another command ended the lease of this process. Requires the lock of the folder.
void require_held(const std::string& folder, const staging::Lease& lease) {
  const auto is_ours = [&](const staging::LeaseFile& file) { return file.lease && file.lease->holder == lease.holder; };
  if (std::ranges::any_of(staging::read_leases(folder), is_ours)) return;
  throw Error(ErrorCode::not_found, At{folder},
              "another command ended the lease of this process, such as `shardctl cache release --all`, and '{}' may "
              "have been evicted since; stage it again",
              folder);
}

/// Takes or renews the lease of a running process, for as long as it keeps the returned file.
std::unique_ptr<io::AtomicFile> hold(io::FileSystem& files, const std::string& folder, staging::Lease lease,
                                     double seconds, bool is_held, const std::stop_token& stop) {
  files.create_directories(io::join_path(folder, staging::kStateFolderPath));
  const io::FolderLock lock = shared_lock(folder, stop);
  if (is_held) require_held(folder, lease);
  lease.taken_at = system::system_clock().now();
  lease.expires_at = staging::lease_end(lease.taken_at, seconds);
  auto held = staging::take_lease(files, folder, lease);
  staging::mark_used(folder);
  return held;
}

/// Returns early on a stop.
void sleep(double seconds, const std::stop_token& stop) {
  try {
    system::system_clock().sleep(system::Seconds(seconds), stop);
  } catch (const Error&) {
    return;
  }
}

}  // namespace

CacheHoldResult cache_hold(const CacheHoldOptions& options, Context& context) {
  const auto files = io::posix_file_system();
  const std::stop_token& stop = context.stop_token();
  staging::Lease lease{id_of(options.lease_id), {}, {}, staging::random_lease_id()};
  if (lease.owner.empty()) lease.owner = lease.holder;
  refuse_cache(options.folder, context);
  CacheHoldResult result{lease.owner};
  std::unique_ptr<io::AtomicFile> held;
  for (; !stop.stop_requested(); sleep(options.lease / 3, stop)) {
    try {
      held = hold(*files, options.folder, lease, options.lease, result.renewals > 0, stop);
      if (result.renewals++ > 0 || context.output() == nullptr) continue;
      context.output()->write(as_bytes(fmt::format("holding '{}' as {} until SIGTERM\n", options.folder, lease.owner)));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) break;
      if (result.renewals == 0 || error.code() == ErrorCode::not_found) throw;
      context.warn("not_renewed", error.what());  // it is tried again before the lease ends
    }
  }
  if (result.renewals > 0) require_held(options.folder, lease);
  held.reset();
  result.held = staging::release_holder(*files, options.folder, lease).held;
  return result;
}

namespace {

constexpr Field kJobOption{"lease-id",
                           "id of the job whose leases are meant; default: the pod's UID or the Slurm job (slurm-<id>)",
                           "ID", Misnomers{"owner purpose"}};
constexpr Field kHeldResult{"held", Unit::count, "leases of the job that stay: another `cache hold` of it is running"};
constexpr Field kOwnerResult{"owner", "id of the job whose leases were looked for; empty: those of all jobs"};

}  // namespace

void CacheReleaseOptions::describe(FieldList& v) {
  v.field(kCacheFolder, folder);
  v.field(kJobOption, lease_id);
  v.field({"all", "end the leases of all jobs, also unreadable ones"}, all);
}

void CacheReleaseResult::describe(FieldList& v) {
  v.field(kOwnerResult, owner);
  v.field({"folders", Unit::count, "staged folders checked"}, folders);
  v.field({"released", Unit::count, "leases ended"}, released);
  v.field(kHeldResult, held);
}

void CacheHoldOptions::describe(FieldList& v) {
  v.field({"DIR", "a staged folder, or one that will be staged", Role::positional, kSharedOutput}, folder);
  v.field({"lease", Unit::seconds,
           "time that the set stays protected if this process is killed; it renews the lease three times as often",
           between(1, staging::kLongestLease)},
          lease);
  v.field(staging::kLeaseIdOption, lease_id);
}

void CacheHoldResult::describe(FieldList& v) {
  v.field({"lease_id", "id of the job that the lease belonged to"}, lease_id);
  v.field({"renewals", Unit::count, "times that the lease was taken or renewed"}, renewals);
  v.field(kHeldResult, held);
}

}  // namespace shardkit::dataset
