#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache.hpp"
#include "dataset/cache/cache_files.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::uint64_t kMostNamed = 5;

Error not_released(const CacheReleaseResult& result, std::uint64_t failed, const std::string& refusals,
                   const std::string& folder) {
  return Error(ErrorCode::denied,
               fmt::format("{} ended; in {} leases could not be ended: {}; their owners can end them, or root",
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
  v.field({"DIR", "a node cache, or one staged folder", Role::positional}, folder);
  v.field({"owner",
           "whose leases to end; default: the pod (POD_NAME or its HOSTNAME), the Slurm job (slurm-<id>), or user@host",
           "NAME"},
          owner);
  v.field({"all", "end everybody's leases, those that cannot be read, too"}, all);
}

void CacheReleaseResult::describe(FieldVisitor& v) {
  v.field({"owner", "whose leases were looked for; empty: everybody's"}, owner);
  v.field({"folders", Unit::count, "staged folders looked at"}, folders);
  v.field({"released", Unit::count, "leases that ended"}, released);
}

}  // namespace shardkit::dataset
