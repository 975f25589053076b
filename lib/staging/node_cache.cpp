#include "staging/node_cache.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "formats/tsv.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "system/storage.hpp"

namespace shardkit::staging {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCacheLockName = ".shardkit-cache.lock";
constexpr const char* kEvictionLogName = ".shardkit-cache.log";
constexpr std::size_t kMostNamed = 5;

/// The space needed and its file system, at one moment.
struct Survey {
  std::vector<StagedFolder> others;  ///< all but the folder that room is wanted for
  std::uint64_t held = 0;            ///< by them
  std::uint64_t bound = 0;           ///< for them and the wanted files
  bool by_disk = false;              ///< the file system is the limit
};

Survey survey_of(const std::string& root, const SpaceWanted& wanted, system::WallTime now,
                 const std::stop_token& stop) {
  Survey survey;
  survey.others = staged_folders(root, stop);
  survey.bound = system::free_bytes(root);
  for (const StagedFolder& folder : survey.others) survey.bound += folder.present_bytes();
  survey.by_disk = !wanted.limit || survey.bound < *wanted.limit;
  if (!survey.by_disk) survey.bound = *wanted.limit;
  const fs::path own = fs::weakly_canonical(wanted.folder);
  std::erase_if(survey.others, [&](const StagedFolder& folder) { return fs::weakly_canonical(folder.path) == own; });
  survey.held = held_bytes(survey.others, now);
  return survey;
}

std::string no_space_text(const std::string& root, const SpaceWanted& wanted, const Survey& survey,
                          system::WallTime now) {
  const std::string start =
      fmt::format("{} are needed for '{}', but ", format_size(wanted.bytes), wanted.folder) +
      (survey.by_disk ? fmt::format("the disk of cache '{}' has space for {}", root, format_size(survey.bound))
                      : fmt::format("--limit allows {} in cache '{}'", typed_size(survey.bound), root));
  const char* remedy = survey.by_disk ? "choose a larger disk" : "give a higher --limit";
  if (wanted.bytes > survey.bound) return fmt::format("{}; {}", start, remedy);  // also without all others
  const std::string release = release_advice(survey.others, now);
  return fmt::format("{}, of which others need {}: {}{}; {}{}", start,
                     format_size(survey.held - freed_bytes(to_evict(survey.others, 0, now))),
                     describe_uses(survey.others, now), release, release.empty() ? "" : "or ", remedy);
}

/// Throws if the wanted files cannot fit, even after all evictions.
Survey fitting_survey(const std::string& root, const SpaceWanted& wanted, system::WallTime now,
                      const std::stop_token& stop) {
  Survey survey = survey_of(root, wanted, now, stop);
  if (wanted.bytes > survey.bound) throw NeverFits(ErrorCode::no_space, no_space_text(root, wanted, survey, now), root);
  const std::uint64_t left = survey.bound - wanted.bytes;
  if (survey.held > left + freed_bytes(to_evict(survey.others, left, now))) {
    throw Error(ErrorCode::no_space, no_space_text(root, wanted, survey, now), root);
  }
  return survey;
}

/// Notes of a folder that it could not be evicted: it is in use, or beyond this user if there is a `refusal`.
void keep(StagedFolder& folder, const std::string& refusal) {
  if (refusal.empty()) {
    folder.at_work = true;
  } else {
    folder.state = StagedState::unreadable;
    folder.fault = refusal;
  }
}

/// The path of a file of the cache. Readers of a staged folder are not to meet a file that no stage brought.
std::string own_file(const std::string& root, const char* name) {
  const std::string state = io::join_path(root, kStateFolderPath);
  std::error_code closed;  // to this user
  const bool is_staged = fs::is_directory(state, closed) && look_at_staged(root);
  return io::join_path(is_staged ? state : root, name);
}

/// A line with time, bytes, folder and source. Best effort.
void log_eviction(io::FileSystem& files, const std::string& root, const StagedFolder& folder, system::WallTime now) {
  if (folder.path == root) return;  // not a cache of several
  std::string line = fmt::format("{}\t{}\t", system::rfc3339(now), folder.removable_bytes());
  formats::append_escaped(line, folder.path);
  line += '\t';
  formats::append_escaped(line, folder.source);
  try {
    files.open_append(own_file(root, kEvictionLogName))->write(as_bytes(line + "\n"));
  } catch (const Error&) {
    return;
  }
}

}  // namespace

io::FolderLock lock_cache(io::FileSystem& files, const std::string& root, const std::stop_token& stop) {
  files.create_directories(root);
  return io::FolderLock(own_file(root, kCacheLockName), stop);
}

std::uint64_t evictions(const std::string& root) {
  try {
    const std::string log = io::read_text_file(io::File::open_regular(own_file(root, kEvictionLogName)));
    return static_cast<std::uint64_t>(std::ranges::count(log, '\n'));
  } catch (const Error&) {
    return 0;
  }
}

void check_space(const std::string& root, const SpaceWanted& wanted, system::WallTime now,
                 const std::stop_token& stop) {
  if (fs::is_directory(root)) fitting_survey(root, wanted, now, stop);
}

void evict_for(io::FileSystem& files, const std::string& root, const SpaceWanted& wanted, system::WallTime now,
               const std::stop_token& stop, const std::function<void(const StagedFolder&)>& evicted) {
  Survey survey = fitting_survey(root, wanted, now, stop);
  const std::uint64_t left = survey.bound - wanted.bytes;
  evict_to(survey.others, left, now, [&](const StagedFolder& folder, std::string& refusal) {
    const bool is_evicted = try_evict(files, root, folder, now, stop, refusal);
    if (is_evicted) evicted(folder);
    return is_evicted;
  });
  if (held_bytes(survey.others, now) > left)
    throw Error(ErrorCode::no_space, no_space_text(root, wanted, survey, now), root);
}

bool try_evict(io::FileSystem& files, const std::string& root, const StagedFolder& folder, system::WallTime now,
               const std::stop_token& stop, std::string& refusal) {
  try {
    if (!evict(files, folder.path, now, stop)) return false;
    log_eviction(files, root, folder, now);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return true;  // somebody removed all of it
    if (error.code() != ErrorCode::denied) throw;
    refusal = error.what();
    return false;
  }
}

std::vector<StagedFolder> evict_to(std::vector<StagedFolder>& folders, std::uint64_t limit, system::WallTime now,
                                   const Evict& evict) {
  std::vector<StagedFolder> evicted;
  while (true) {
    std::vector<StagedFolder> evictable = to_evict(folders, limit, now);
    if (evictable.empty()) return evicted;
    for (StagedFolder& folder : evictable) {
      const auto found = std::ranges::find(folders, folder.path, &StagedFolder::path);
      std::string refusal;
      if (evict(folder, refusal)) {
        if (folder.found_bytes == 0) {
          folders.erase(found);
        } else {
          found->bytes = found->found_bytes;
          found->partial_bytes = 0;
          found->arrived_bytes = 0;
        }
        evicted.push_back(std::move(folder));
      } else {
        keep(*found, refusal);
      }
    }
  }
}

std::vector<StagedFolder> to_evict(std::vector<StagedFolder> folders, std::uint64_t limit, system::WallTime now) {
  std::uint64_t held = held_bytes(folders, now);
  std::erase_if(folders, [&](const StagedFolder& folder) { return !is_evictable(folder, now); });
  std::ranges::stable_sort(folders, {}, &StagedFolder::last_used);
  std::vector<StagedFolder> evictable;
  for (StagedFolder& folder : folders) {
    if (held <= limit) break;
    held -= folder.removable_bytes();
    evictable.push_back(std::move(folder));
  }
  return evictable;
}

bool is_evictable(const StagedFolder& folder, system::WallTime now) {
  // Without any known file it is unknown which of them belong to the stage.
  return folder.state != StagedState::unreadable && !folder.at_work && !folder.is_leased(now) &&
         !folder.source.empty() && folder.files + folder.partial_bytes > 0 && folder.removable_bytes() > 0;
}

namespace {

/// The one that ends last is the last.
std::vector<LeaseFile> live_leases(const StagedFolder& folder, system::WallTime now) {
  std::vector<LeaseFile> leases = folder.leases;
  std::erase_if(leases, [&](const LeaseFile& lease) { return !lease.lives_at(now); });
  std::ranges::stable_sort(
      leases, {}, [](const LeaseFile& file) { return file.lease ? file.lease->expires_at : system::WallTime::max(); });
  return leases;
}

}  // namespace

std::string describe_use(const StagedFolder& folder, system::WallTime now) {
  const std::string start = fmt::format("'{}' ({})", folder.path, format_size(folder.held_bytes(now)));
  std::string use;
  if (folder.at_work) use = folder.marker ? " is in use by another command" : " is being staged";
  if (const auto leases = live_leases(folder, now); !leases.empty()) {
    use += (use.empty() ? " is " : ", ") + describe(leases.back());
    if (leases.size() > 1) use += fmt::format(" and by {} more", leases.size() - 1);
  }
  if (!use.empty()) return start + use;
  if (folder.state == StagedState::unreadable)
    return fmt::format("{} is not accessible to this user ({})", start, folder.fault);
  if (folder.found_bytes > 0) {
    return fmt::format("{} has {} of files that were there before it was staged: they stay", start,
                       format_size(folder.found_bytes));
  }
  return start + " has lost the journal of its files, and neither its marker nor a manifest says which they are";
}

std::string describe_uses(const std::vector<StagedFolder>& folders, system::WallTime now) {
  std::string text;
  std::size_t named = 0;
  for (const StagedFolder& folder : folders) {
    if (is_evictable(folder, now) && folder.found_bytes == 0) continue;
    if (++named <= kMostNamed) text += (text.empty() ? "" : "; ") + describe_use(folder, now);
  }
  if (named > kMostNamed) text += fmt::format("; and {} more", named - kMostNamed);
  return text;
}

std::string release_advice(const std::vector<StagedFolder>& folders, system::WallTime now) {
  const auto leased = std::ranges::find_if(folders, [&](const StagedFolder& folder) { return folder.is_leased(now); });
  if (leased == folders.end()) return {};
  return "; if that lease is no longer needed, " + how_to_end(live_leases(*leased, now).back(), leased->path);
}

std::string how_to_end(const LeaseFile& lease, const std::string& folder) {
  if (lease.lease && !lease.lease->holder.empty()) return "stop its `cache hold`";
  return "run " + remedy::in_text(remedy::release(folder, lease.lease ? lease.lease->owner : ""));
}

std::uint64_t freed_bytes(const std::vector<StagedFolder>& evicted) {
  std::uint64_t sum = 0;
  for (const StagedFolder& folder : evicted) sum += folder.removable_bytes();
  return sum;
}

std::uint64_t held_bytes(const std::vector<StagedFolder>& folders, system::WallTime now) {
  std::uint64_t sum = 0;
  for (const StagedFolder& folder : folders) sum += folder.held_bytes(now);
  return sum;
}

}  // namespace shardkit::staging
