#include "dataset/stage/cache_reservation.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/folder.hpp"
#include "core/remedies.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/node_cache.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

constexpr double kLookEvery = 2;  // seconds

/// Folders from the cache to the target; -1 when it is not found there.
int depth_in(const std::string& cache, const std::string& target) {
  const fs::path way = resolved_path(target).lexically_relative(resolved_path(cache));
  int depth = 0;
  for (const fs::path& step : way) {
    if (step == "." || step.empty()) continue;
    if (step.native().starts_with('.')) return -1;
    ++depth;
  }
  return way.empty() || depth > staging::kDeepestStagedFolder ? -1 : depth;
}

/// Others of the group of a shared cache could neither evict nor update what this process creates there.
void warn_of_umask(const std::string& cache, Context& context) {
  struct stat info {};
  constexpr mode_t kShared = S_ISGID | S_IWGRP;
  if (::stat(cache.c_str(), &info) != 0 || (info.st_mode & kShared) != kShared) return;
  const mode_t mask = ::umask(077);
  ::umask(mask);
  if ((mask & S_IWGRP) == 0) return;
  context.warn("not_shared",
               "'{}' is shared by a group, but with umask {:03o} its members can neither evict "
               "nor update this set; use umask 002",
               cache, mask);
}

}  // namespace

void CacheShareOptions::describe(FieldList& v) {
  v.topic("Node cache");
  v.field({"limit", Unit::bytes,
           "maximum size of DST, or with --cache of all sets there; evicts sets without a lease, least recently used "
           "first; fails before copying if that is not enough"},
          limit);
  v.field({"cache",
           "folder of all staged folders that share the limit and the disk; DST must be inside, at most 4 levels down",
           "DIR", kSharedOutput},
          cache);
  v.field({"lease", Unit::seconds,
           "time from now that DST is protected from eviction and replacement, unless `shardctl cache release` ends it "
           "earlier; 0: only while it is being staged",
           between(0, staging::kLongestLease)},
          lease);
  v.field(staging::kLeaseIdOption, lease_id);
  v.field({"wait", Unit::seconds,
           "if there is no space, wait up to this long until leases end or other stages finish; then exit 5"},
          wait);
}

void check(const CacheShareOptions& options, const std::string& target) {
  check_ranges(options);
  if (!options.cache.empty() && depth_in(options.cache, target) == 0) {
    throw Error(ErrorCode::usage, At{target},
                "the target '{}' is the cache itself; give a folder for the set in it, such as '{}'", target,
                io::join_path(target, "train"));
  }
  if (!options.cache.empty() && depth_in(options.cache, target) < 0) {
    throw Error(ErrorCode::usage, At{target},
                "the target '{}' is not inside the cache '{}' at most {} levels down without hidden "
                "folders, so --limit could not count it",
                target, options.cache, staging::kDeepestStagedFolder);
  }
}

CacheReservation::CacheReservation(io::FileSystem& files, staging::StageTarget& target,
                                   const CacheShareOptions& options, Context& context)
    : files_(files),
      target_(target),
      options_(options),
      context_(context),
      job_id_(staging::lease_id_of(options.lease_id, system::process_environment())),
      id_(job_id_.empty() ? staging::random_lease_id() : job_id_) {}

bool CacheReservation::keep(const std::function<bool()>& still_holds) {
  try {
    if (options_.lease > 0 && !keep_by_lease(still_holds)) return false;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::denied && error.code() != ErrorCode::no_space) throw;
    if (!lease_)
      context_.warn("not_leased",
                    "the set is complete, but it may be evicted, because no lease could be taken "
                    "or renewed (--lease 0 takes none): {}",
                    error.what());
  }
  staging::mark_used(target_.folder());
  return true;
}

bool CacheReservation::keep_by_lease(const std::function<bool()>& still_holds) {
  io::FolderLock lock(target_.path_of(staging::kStageLockPath));  // no process evicts while it is shared
  if (!lock.try_take(io::LockMode::shared) || !still_holds()) return false;
  take_lease();
  files_.open_append(target_.path_of(staging::kHitsPath))->write(as_bytes("\n"));
  return true;
}

void CacheReservation::await_space(const std::function<void()>& attempt) {
  const system::Seconds deadline = system::system_clock().monotonic() + system::Seconds(options_.wait);
  bool is_waiting = false;
  while (true) {
    try {
      return attempt();
    } catch (const Error& error) {
      const system::Seconds left = deadline - system::system_clock().monotonic();
      const bool may_fit =
          error.code() == ErrorCode::no_space && dynamic_cast<const staging::NeverFits*>(&error) == nullptr;
      if (error.code() == ErrorCode::no_space) drop_lease();
      target_.give_up();
      if (!may_fit || left.count() <= 0) throw;
      if (!std::exchange(is_waiting, true)) context_.warn("waited_for_space", error.what());
      context_.progress().start_for("wait for space", left.count());
      system::system_clock().sleep(std::min(left, system::Seconds(kLookEvery)), context_.stop_token());
    }
  }
}

void CacheReservation::check_limit(std::uint64_t need) const {
  if (need <= options_.limit.value_or(need)) return;
  throw Error(ErrorCode::no_space, At{target_.folder()},
              "{} are needed, but --limit allows {}; raise it or stage a smaller set", format_size(need),
              typed_size(*options_.limit));
}

void CacheReservation::check_space(std::uint64_t need, std::uint64_t new_files) const {
  if (options_.cache.empty()) return;
  staging::check_space(options_.cache, {target_.folder(), need, options_.limit, new_files},
                       system::system_clock().now(), context_.stop_token());
}

void CacheReservation::take_space(std::uint64_t need, std::uint64_t new_files) {
  std::optional<io::FolderLock> lock;
  if (!options_.cache.empty()) {
    lock.emplace(staging::lock_cache(files_, options_.cache, context_.stop_token()));
    staging::evict_for(files_, options_.cache, {target_.folder(), need, options_.limit, new_files},
                       system::system_clock().now(), context_.stop_token(), [&](const staging::StagedFolder& folder) {
                         report_evicted(folder.path, folder.removable_bytes(), folder.source);
                       });
  }
  warn_of_umask(options_.cache.empty() ? io::parent_folder(target_.folder()) : options_.cache, context_);
  if (!job_id_.empty()) take_lease();
  target_.journal().announce(need);
}

void CacheReservation::check_replace(const staging::StageTarget::OtherSet& other, const staging::StagedSetId& asked,
                                     bool is_update) const {
  const bool is_newer = other.marker.source == asked.source;
  const std::string what = fmt::format("'{}' contains {} copy of {} (from '{}', manifest {}; requested is {})",
                                       target_.folder(), other.is_finished ? "a finished" : "an unfinished",
                                       is_newer ? "another version of the set" : "another set", other.marker.source,
                                       to_hex(other.marker.manifest), to_hex(asked.hash));
  const bool needs_eviction = other.is_finished && !is_update && !options_.limit;
  const std::string evict = needs_eviction ? remedy::evict(target_.folder()) : "";
  std::string release;
  for (const staging::LeaseFile& lease : staging::read_leases(target_.folder())) {
    if (!lease.lives_at(system::system_clock().now())) continue;
    if (lease.lease && lease.lease->owner == id_) {
      release = remedy::release(target_.folder(), id_) + " && ";
      continue;
    }
    throw Error(ErrorCode::no_space,  // it passes: by a release, or with time
                fmt::format("{}, {}; choose another folder, or when it is no longer in use {}{}", what,
                            staging::describe(lease), staging::how_to_end(lease, target_.folder()),
                            needs_eviction ? fmt::format(", then `{}`", evict) : ""),
                target_.folder());
  }
  if (!needs_eviction) return;
  throw Error(ErrorCode::conflict, At{target_.folder()},
              "{}; choose another folder, or when it is no longer in use evict it with `{}{}`; with "
              "--limit, a set without leases of others is replaced",
              what, release, evict);
}

void CacheReservation::replace(const staging::StageTarget::OtherSet& other, const staging::StagedSetId& asked,
                               bool is_update) {
  check_replace(other, asked, is_update);
  if (is_update) return;
  const auto found = staging::look_at_staged(target_.folder());
  report_evicted(target_.folder(), found ? found->removable_bytes() : 0, other.marker.source);
}

void CacheReservation::report_evicted(const std::string& folder, std::uint64_t bytes, const std::string& source) {
  evicted_.push_back(fmt::format("'{}' ({} from '{}')", folder, format_size(bytes), source));
  context_.warn("evicted", evicted_.back() + " was evicted");
}

void CacheReservation::drop_lease() noexcept {
  try {
    if (!lease_ || target_.marker()) return;
    staging::release_lease(files_, target_.folder(), id_);
    lease_.reset();
  } catch (...) {
    return;  // it ends by itself
  }
}

void CacheReservation::take_lease() {
  if (options_.lease == 0) return;
  const system::WallTime now = system::system_clock().now();
  lease_ = staging::extend_lease(files_, target_.folder(), {id_, now, staging::lease_end(now, options_.lease)});
}

}  // namespace shardkit::dataset
