#include "dataset/cache/cache_ls.hpp"

#include <algorithm>
#include <filesystem>

#include "dataset/cache/cache.hpp"
#include "staging/node_cache.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

CacheLsLease lease_row(const staging::LeaseFile& file, system::WallTime now) {
  CacheLsLease row;
  row.live = file.lives_at(now);
  row.fault = file.fault;
  if (!file.lease) return row;
  row.owner = file.lease->owner;
  row.held = file.is_held;
  row.taken_at = system::rfc3339(file.lease->taken_at);
  row.expires_at = system::rfc3339(file.lease->expires_at);
  return row;
}

/// The row of a folder without its contents' residency.
CacheLsFolder folder_row(const staging::StagedFolder& folder, system::WallTime now) {
  CacheLsFolder row{folder};
  row.path = std::filesystem::absolute(folder.path).lexically_normal();  // a label of metrics, for many nodes
  row.last_used_at = system::rfc3339(folder.last_used);
  row.age = std::max(0.0, system::Seconds(now - folder.last_used).count());
  for (const staging::LeaseFile& lease : folder.leases) {
    row.lease_rows.push_back(lease_row(lease, now));
    row.live_leases += row.lease_rows.back().live ? 1 : 0;
  }
  return row;
}

}  // namespace

CacheLsResult cache_ls(const CacheLsOptions& options, Context& context) {
  CacheLsResult result;
  Residency all;
  const system::WallTime now = system::system_clock().now();
  const auto folders = cache_folders(options.folder, context);
  context.progress().start("look at the page cache", folders.size());
  for (const staging::StagedFolder& folder : folders) {
    if (folder.state == staging::StagedState::unreadable) {
      context.warn("unreadable", "'{}' is listed without files that this user may not read: {}", folder.path,
                   folder.fault);
    }
    CacheLsFolder row = folder_row(folder, now);
    Residency of_folder;
    for (const CacheFile& file : cache_files({folder})) {
      context.throw_if_stopped();
      const Residency of_file = residency_of(file);
      of_folder += of_file;
      if (options.long_) row.contents.push_back({file.name, file.staged.bytes, of_file.ratio()});
    }
    row.resident_ratio = of_folder.ratio();
    all += of_folder;
    result.files += row.files;
    result.bytes += row.bytes;
    result.partial_bytes += row.partial_bytes;
    if (folder.is_leased(now)) result.leased_bytes += folder.present_bytes();
    result.folders.push_back(std::move(row));
    ++context.progress().items;
  }
  result.resident_ratio = all.ratio();
  result.evictions = staging::evictions(options.folder);
  return result;
}

void CacheLsOptions::describe(FieldList& v) {
  v.field({"DIR", "a node cache, or one staged folder", Role::positional}, folder);
  v.field({"long", "also list each file", Misnomers{"files"}}, long_);
}

void CacheLsLease::describe(FieldList& v) {
  v.field({"owner", "owner of the lease"}, owner);
  v.field({"taken_at", "start of the lease, RFC 3339"}, taken_at);
  v.field({"expires_at", "expiry of the lease, RFC 3339"}, expires_at);
  v.field({"live", "whether it still protects the folder"}, live);
  v.field({"held", "whether a running `cache hold` renews it and ends it"}, held);
  v.field({"fault", "why it cannot be read; such a lease counts as live"}, fault);
}

void CacheLsFile::describe(FieldList& v) {
  v.field({"name", "path relative to its folder"}, name);
  v.field({"bytes", Unit::bytes, "size"}, bytes);
  v.field({"resident_ratio", Unit::ratio, "share in the page cache; null: unknown"}, resident_ratio);
}

void CacheLsFolder::describe(FieldList& v) {
  v.field({"path", "the staged folder", kLabel}, path);
  v.field({"source", "source of its files"}, source);
  v.field({"state",
           "complete; partial: not complete, no stage is running; in_progress: being staged; unreadable: this user may "
           "not read it"},
          state);
  v.field({"fault", "why it cannot be read, or how its marker and its journal differ"}, fault);
  v.field({"files", Unit::count, "complete files"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"partial_bytes", Unit::bytes, "bytes on disk of incomplete files; also space that is reserved for them"},
          partial_bytes);
  v.field({"arrived_bytes", Unit::bytes, "bytes of these files that a stage need not fetch again"}, arrived_bytes);
  v.field({"last_used",
           "last stage, renewal of a lease, or read if the mount records access times: the newest of them, RFC 3339"},
          last_used_at);
  v.field({"age", Unit::seconds, "time since it was last used"}, age);
  v.field({"live_leases", Unit::count, "leases that have not expired"}, live_leases);
  v.field({"hits", Unit::count, "stages that found it complete and leased it"}, hits);
  v.field({"resident_ratio", Unit::ratio, "share of the bytes in the page cache; null: unknown"}, resident_ratio);
  v.field({"leases", "leases that protect it from eviction"}, lease_rows);
  v.field({"contents", "its files, with --long"}, contents);
}

void CacheLsResult::describe(FieldList& v) {
  v.field({"folders", "the staged folders, by path"}, folders);
  v.field({"files", Unit::count, "files in all of them"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"partial_bytes", Unit::bytes, "bytes on disk of incomplete files; also space that is reserved for them"},
          partial_bytes);
  v.field({"leased_bytes", Unit::bytes, "bytes in leased folders"}, leased_bytes);
  v.field({"evictions", Unit::count, "sets evicted from this cache so far, to make space for others or by gc"},
          evictions);
  v.field({"resident_ratio", Unit::ratio, "share of all bytes in the page cache; null: unknown"}, resident_ratio);
}

}  // namespace shardkit::dataset
