#include "dataset/stage/cache_share.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/remedies.hpp"
#include "formats/manifest.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/node_cache.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestLease = 100.0 * 366 * 86'400;  // so that its end is a time that can be written

/// Folders from the cache to the target; -1 when it is not found there.
int depth_in(const std::string& cache, const std::string& target) {
  const fs::path way = fs::weakly_canonical(target).lexically_relative(fs::weakly_canonical(cache));
  int depth = 0;
  for (const fs::path& step : way) {
    if (step == "." || step.empty()) continue;
    if (step.native().starts_with('.')) return -1;
    ++depth;
  }
  return way.empty() || depth > staging::kDeepestStagedFolder ? -1 : depth;
}

/// Bytes of the target with all wanted files and those of the set that it already has.
std::uint64_t bytes_in_the_end(const staging::StageTarget& target, const staging::StagedSetId& set,
                               const std::vector<staging::StageFile>& wanted, std::uint64_t manifest) {
  std::uint64_t bytes = manifest;
  std::set<std::string_view> counted{formats::kManifestName};
  for (const staging::StageFile& file : wanted) {
    if (counted.insert(file.object.name).second) bytes += file.object.size;
  }
  const staging::StageJournal::State journal = staging::StageJournal::read(target.path_of(staging::kStageJournalPath));
  if (!journal.set || !journal.set->is(set)) return bytes;
  for (const auto& [name, file] : journal.files) {
    if (!counted.contains(name)) bytes += file.bytes;
  }
  return bytes;
}

void check_limit(std::uint64_t need, std::uint64_t limit, const std::string& target) {
  if (need <= limit) return;
  throw Error(ErrorCode::no_space,
              fmt::format("{} are needed, but --limit allows {}; raise it or stage a smaller set", format_size(need),
                          format_size(limit)),
              target);
}

}  // namespace

void CacheShareOptions::describe(FieldVisitor& v) {
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
           between(0, kLongestLease)},
          lease);
  v.field({"owner",
           "owner of the lease; default: the pod (POD_NAME or its HOSTNAME), the Slurm job (slurm-<id>), or user@host",
           "NAME"},
          owner);
  v.field({"purpose", "purpose of the lease, shown in lists", "TEXT"}, purpose);
}

void check(const CacheShareOptions& options, const std::string& target) {
  check_ranges(options);
  if (!options.cache.empty() && depth_in(options.cache, target) < 0) {
    throw Error(ErrorCode::usage,
                fmt::format("the target '{}' is not inside the cache '{}' at most {} levels down without hidden "
                            "folders, so --limit could not count it",
                            target, options.cache, staging::kDeepestStagedFolder),
                target);
  }
}

CacheShare::CacheShare(io::FileSystem& files, staging::StageTarget& target, const CacheShareOptions& options,
                       system::Clock& clock, Context& ctx)
    : files_(files),
      target_(target),
      options_(options),
      clock_(clock),
      ctx_(ctx),
      owner_(options.owner.empty() ? staging::default_lease_owner(system::process_environment()) : options.owner) {}

bool CacheShare::keep(const std::function<bool()>& still_holds) {
  try {
    if (options_.lease > 0 && !keep_by_lease(still_holds)) return false;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::denied) throw;
    throw Error(
        error.code(),
        fmt::format(
            "{}; the set is complete, and --lease 0 needs no permission to write there, but then it may be evicted",
            error.what()),
        error.path());
  }
  staging::mark_used(target_.folder());
  return true;
}

bool CacheShare::keep_by_lease(const std::function<bool()>& still_holds) {
  io::FolderLock lock(target_.path_of(staging::kStageLockPath));  // no process evicts while it is shared
  if (!lock.try_take(io::Hold::shared) || !still_holds()) return false;
  take_lease();
  return true;
}

void CacheShare::check_room(const staging::StagedSetId& set, const std::vector<staging::StageFile>& wanted,
                            std::uint64_t manifest) const {
  if (!counts()) return;
  const std::uint64_t need = bytes_in_the_end(target_, set, wanted, manifest);
  if (options_.limit) check_limit(need, *options_.limit, target_.folder());
  if (options_.cache.empty()) return;
  staging::check_room(options_.cache, {target_.folder(), need, options_.limit}, clock_.now(), ctx_.stop_token());
}

void CacheShare::take_room(const staging::StagedSetId& set, const std::vector<staging::StageFile>& wanted,
                           std::uint64_t manifest) {
  const std::uint64_t need = bytes_in_the_end(target_, set, wanted, manifest);
  std::optional<io::FolderLock> lock;
  if (!options_.cache.empty()) {
    lock.emplace(staging::lock_cache(files_, options_.cache, ctx_.stop_token()));
    const auto gone = staging::make_room(files_, options_.cache, {target_.folder(), need, options_.limit}, clock_.now(),
                                         ctx_.stop_token());
    for (const staging::StagedFolder& folder : gone) {
      ctx_.warn("evicted",
                fmt::format("'{}' ({} from '{}') was evicted", folder.path, format_size(folder.bytes), folder.source));
    }
  }
  target_.journal().announce(need);
  take_lease();
}

void CacheShare::check_replace(const Replacement& replacement) const {
  const std::string what =
      fmt::format("'{}' contains {} copy of another set (from '{}', manifest {}; requested is {})", target_.folder(),
                  replacement.finished ? "a finished" : "an unfinished", replacement.found.source,
                  to_hex(replacement.found.manifest), to_hex(replacement.asked.hash));
  std::string release;
  for (const staging::LeaseFile& lease : staging::read_leases(target_.folder())) {
    if (!lease.lives_at(clock_.now())) continue;
    release = remedy::release(target_.folder());
    if (lease.lease && lease.lease->owner == owner_) continue;
    throw Error(ErrorCode::no_space,  // it passes: by a release, or with time
                fmt::format("{}, {}; choose another folder, or when it is no longer in use run {}", what,
                            staging::describe(lease), remedy::in_text(release)),
                target_.folder());
  }
  if (!replacement.finished || replacement.is_update || options_.limit) return;
  throw Error(ErrorCode::conflict,
              fmt::format("{}; choose another folder, or when it is no longer in use evict it with `{}{}{}`; with "
                          "--limit, a set without leases of others is replaced",
                          what, release, release.empty() ? "" : " && ", remedy::evict(target_.folder())),
              target_.folder());
}

void CacheShare::drop_lease() noexcept {
  try {
    if (options_.lease > 0) staging::release_lease(files_, target_.folder(), owner_);
  } catch (const std::exception&) {
    return;  // it ends by itself
  }
}

void CacheShare::take_lease() {
  if (options_.lease == 0) return;
  const system::WallTime now = clock_.now();
  auto until = now + std::chrono::duration_cast<system::WallTime::duration>(system::Seconds(std::ceil(options_.lease)));
  for (const staging::LeaseFile& file :
       staging::read_leases(target_.folder())) {  // another job of the same owner may need it longer
    if (file.lease && file.lease->owner == owner_) until = std::max(until, file.lease->expires_at);
  }
  staging::take_lease(files_, target_.folder(), {owner_, options_.purpose, now, until});
}

}  // namespace shardkit::dataset
