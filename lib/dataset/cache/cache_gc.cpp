#include "dataset/cache/cache_gc.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache.hpp"
#include "io/publish.hpp"
#include "staging/node_cache.hpp"
#include "system/clock.hpp"

namespace shardkit::dataset {
namespace {

CacheGcFolder row_of(const staging::StagedFolder& folder) {
  return {folder.path, folder.source, folder.removable_bytes(), system::rfc3339(folder.last_used)};
}

class Collection {
 public:
  Collection(const CacheGcOptions& options, Context& context)
      : options_(options),
        context_(context),
        now_(system::system_clock().now()),
        folders_(cache_folders(options.folder, context)) {
    result_.dry_run = options.dry_run;
  }

  CacheGcResult run() {
    std::optional<io::FolderLock> lock;
    if (!options_.dry_run && !folders_.empty()) {
      lock.emplace(staging::lock_cache(*files_, options_.folder, context_.stop_token()));
      folders_ = cache_folders(options_.folder, context_);
    }
    sweep();
    if (options_.limit) evict_to(*options_.limit);
    result_.folders_left = folders_.size();
    result_.bytes_left = staging::held_bytes(folders_, now_);
    if (options_.limit && result_.bytes_left > *options_.limit) throw limit_not_reached();
    return std::move(result_);
  }

 private:
  void sweep() {
    staging::Leftovers leftovers;
    for (staging::StagedFolder& folder : folders_) {
      context_.throw_if_stopped();
      try {
        const staging::Leftovers found = staging::sweep_leftovers(*files_, folder.path, now_, !options_.dry_run);
        leftovers += found;
        folder.partial_bytes -= std::min(folder.partial_bytes, found.bytes);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found) continue;  // somebody removed all of it
        if (error.code() != ErrorCode::denied) throw;
        context_.warn("not_swept", "'{}' was skipped: {}", folder.path, error.what());
      }
    }
    result_.leftover_files = leftovers.files;
    result_.leftover_bytes = leftovers.bytes;
    if (!options_.dry_run) folders_ = cache_folders(options_.folder, context_);
  }

  void evict_to(std::uint64_t limit) {
    context_.progress().start("evict", staging::to_evict(folders_, limit, now_).size());
    const auto evict = [&](staging::StagedFolder& folder) {
      const bool goes =
          options_.dry_run || staging::try_evict(*files_, options_.folder, folder, now_, context_.stop_token());
      if (goes) ++context_.progress().items;
      if (folder.state == staging::StagedState::unreadable)
        context_.warn("not_evicted", "'{}' was not evicted: {}", folder.path, folder.fault);
      return goes;
    };
    const auto gone = staging::evict_to(folders_, limit, now_, evict);
    std::ranges::transform(gone, std::back_inserter(result_.evicted), row_of);
    result_.evicted_bytes = staging::freed_bytes(gone);
  }

  Error limit_not_reached() const {
    const std::string evicted =
        result_.evicted.empty()
            ? ""
            : fmt::format("{} {} of {}, but ", options_.dry_run ? "would evict" : "evicted",
                          format_count(result_.evicted.size(), "folder"), format_size(result_.evicted_bytes));
    return Error(ErrorCode::no_space, At{options_.folder},
                 "{}{} remain, more than --limit {}: {}{}; or give a higher --limit", evicted,
                 format_size(result_.bytes_left), typed_size(*options_.limit), staging::describe_uses(folders_, now_),
                 staging::release_advice(folders_, now_));
  }

  const CacheGcOptions& options_;
  Context& context_;
  const system::WallTime now_;
  const std::unique_ptr<io::FileSystem> files_ = io::posix_file_system();
  std::vector<staging::StagedFolder> folders_;
  CacheGcResult result_;
};

void warn_of_kept(const staging::StagedFolder& folder, Context& context) {
  if (folder.found_bytes > 0) {
    context.warn("files_kept", "{} in '{}' were there before it was staged: what to do with them is yours to decide",
                 format_size(folder.found_bytes), folder.path);
  }
  if (folder.lost_files > 0) {
    context.warn("files_kept",
                 "the journal of '{}' was lost, so {} of its set may still be there, which no manifest lists: look for "
                 "them, because shardctl does not know them",
                 folder.path, format_count(folder.lost_files, "file"));
  }
}

/// Of a folder that has lost its journal, and whose files are not those that its marker counts.
std::string unknown_files_text(const staging::StagedFolder& folder) {
  return fmt::format(
      "'{}' has lost '{}', and its marker counts {} of {}, which are not the files that are there; move files that "
      "are not of the set elsewhere and run the same command again, or move the folder elsewhere",
      folder.path, staging::kStageJournalPath, format_count(folder.marker->files, "file"),
      format_size(folder.marker->bytes));
}

}  // namespace

CacheGcResult cache_gc(const CacheGcOptions& options, Context& context) { return Collection(options, context).run(); }

CacheGcFolder cache_rm(const CacheRmOptions& options, Context& context) {
  const std::string& path = options.folder;
  staging::require_local_folder(path, context);
  const system::WallTime now = system::system_clock().now();
  auto folder = staging::look_at_staged(path);
  if (!folder && std::filesystem::exists(io::join_path(path, staging::kPartialFolderPath))) {
    folder.emplace();  // its stage was killed before it wrote anything else
    folder->path = path;
    folder->last_used = now;
  }
  if (!folder) throw Error(ErrorCode::not_found, At{path}, "'{}' contains no staged set to remove", path);
  const bool are_files_known = folder->lost_files == 0 || folder->files > 0;
  if (are_files_known && staging::evict(*io::posix_file_system(), path, now, context.stop_token())) {
    warn_of_kept(*folder, context);
    return row_of(*folder);
  }
  const auto use = staging::look_at_staged(path).value_or(*folder);
  throw Error(
      use.at_work || use.is_leased(now) ? ErrorCode::in_use : ErrorCode::conflict,
      are_files_known ? staging::describe_use(use, now) + staging::release_advice({use}, now) : unknown_files_text(use),
      path);
}

void CacheRmOptions::describe(FieldList& v) {
  v.field({"SET", "staged folder to empty", Role::positional, kSharedOutput}, folder);
}

void CacheGcOptions::describe(FieldList& v) {
  v.field(kCacheFolder, folder);
  v.field({"limit", Unit::bytes,
           "evict until all staged folders together need at most this much; without it, only leftovers are removed"},
          limit);
  v.field({"dry-run", "only report what would be removed"}, dry_run);
}

void CacheGcFolder::describe(FieldList& v) {
  v.field({"path", "the staged folder"}, path);
  v.field({"source", "source of its files"}, source);
  v.field({"bytes", Unit::bytes, "bytes that were removed, or with --dry-run would be"}, bytes);
  v.field({"last_used", "last time that it was used, RFC 3339"}, last_used);
}

void CacheGcResult::describe(FieldList& v) {
  v.field({"dry_run", "true if nothing was removed, only reported"}, dry_run);
  v.field({"evicted", "folders evicted, in that order"}, evicted);
  v.field({"evicted_bytes", Unit::bytes, "bytes removed from these folders"}, evicted_bytes);
  v.field({"leftover_files", Unit::count,
           "leases that had expired, temporary files, and incomplete files that no stage will continue"},
          leftover_files);
  v.field({"leftover_bytes", Unit::bytes, "bytes of these files on disk"}, leftover_bytes);
  v.field({"folders_left", Unit::count, "staged folders that remain"}, folders_left);
  v.field({"bytes_left", Unit::bytes, "bytes of them that count towards a limit"}, bytes_left);
}

}  // namespace shardkit::dataset
