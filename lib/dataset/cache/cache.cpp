#include "dataset/cache/cache.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {

std::string CacheFile::path() const { return io::join_path(folder, name); }

std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& ctx) {
  ctx.progress().start("look for staged folders");
  staging::require_local_folder(folder);
  return staging::staged_folders(folder, ctx.stop_token());
}

std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders) {
  std::vector<CacheFile> files;
  for (const staging::StagedFolder& folder : folders) {
    if (folder.state == staging::StagedState::unreadable) continue;
    staging::StageJournal::State journal =
        staging::StageJournal::read(io::join_path(folder.path, staging::kStageJournalPath));
    for (auto& [name, staged] : journal.files) files.push_back({folder.path, name, std::move(staged)});
  }
  return files;
}

std::optional<double> Residency::ratio() const {
  if (!known || bytes == 0) return std::nullopt;
  return static_cast<double>(cached) / static_cast<double>(bytes);
}

Residency& Residency::operator+=(const Residency& more) {
  bytes += more.bytes;
  cached += more.cached;
  known = known && more.known;
  return *this;
}

Residency residency_of(const CacheFile& file) {
  try {
    const io::File open = io::File::open_read(file.path());
    const auto cached = io::cached_bytes(open);
    return {open.size(), cached.value_or(0), cached.has_value()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    if (error.code() == ErrorCode::denied) return {0, 0, false};
    throw;
  }
}

Residency residency_of(const std::vector<CacheFile>& files, Context& ctx) {
  Residency sum;
  for (const CacheFile& file : files) {
    ctx.throw_if_stopped();
    sum += residency_of(file);
  }
  return sum;
}

namespace {

constexpr std::uint64_t kMostNamed = 5;

Error not_released(const CacheReleaseResult& result, std::uint64_t failed, const std::string& refusals,
                   const std::string& folder) {
  return Error(ErrorCode::denied,
               fmt::format("{} ended, but in {} leases could not be ended: {}; their owners or root can end them",
                           format_count(result.released, "lease"), format_count(failed, "folder"), refusals),
               folder);
}

}  // namespace

CacheReleaseResult cache_release(const CacheReleaseOptions& options, Context& ctx) {
  if (options.all && !options.owner.empty()) throw Error(ErrorCode::usage, "--all and --owner exclude each other");
  CacheReleaseResult result;
  std::uint64_t failed = 0;
  std::string refusals;
  if (!options.all)
    result.owner = options.owner.empty() ? staging::default_lease_owner(system::process_environment()) : options.owner;
  const auto files = io::posix_file_system();
  for (const staging::StagedFolder& folder : cache_folders(options.folder, ctx)) {
    ctx.throw_if_stopped();
    ++result.folders;
    try {
      result.released += options.all ? staging::release_all_leases(*files, folder.path)
                                     : std::uint64_t{staging::release_lease(*files, folder.path, result.owner)};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied) throw;
      if (failed++ < kMostNamed) refusals += (refusals.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (failed > 0) throw not_released(result, failed, refusals, options.folder);
  if (result.released == 0) {
    const std::string whose = options.all ? "" : fmt::format(" of '{}'", result.owner);
    ctx.warn("no_lease", fmt::format("there was no lease{} in '{}'", whose, options.folder));
  }
  return result;
}

void CacheReleaseOptions::describe(FieldVisitor& v) {
  v.field({"DIR", "a node cache, or one staged folder", Role::positional, kSharedOutput}, folder);
  v.field({"owner",
           "owner of the leases to end; default: the pod (POD_NAME or its HOSTNAME), the Slurm job (slurm-<id>), or "
           "user@host",
           "NAME"},
          owner);
  v.field({"all", "end the leases of all owners, also unreadable ones"}, all);
}

void CacheReleaseResult::describe(FieldVisitor& v) {
  v.field({"owner", "owner whose leases were looked for; empty: all owners"}, owner);
  v.field({"folders", Unit::count, "staged folders checked"}, folders);
  v.field({"released", Unit::count, "leases ended"}, released);
}

}  // namespace shardkit::dataset
