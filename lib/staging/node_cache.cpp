#include "staging/node_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/lease.hpp"
#include "staging/lost_journal.hpp"
#include "staging/stage_journal.hpp"
#include "system/storage.hpp"

namespace shardkit::staging {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 5;

/// The space needed and its file system, at one moment.
struct Survey {
  std::vector<StagedFolder> others;  ///< all but the folder that room is wanted for
  std::uint64_t held = 0;            ///< by them
  std::uint64_t bound = 0;           ///< for them and the wanted files
  bool by_disk = false;              ///< the file system is the limit
  std::uint64_t free_files = 0;      ///< on it
  std::uint64_t left = 0;            ///< bytes that the others may hold; known once the wanted files fit
};

/// Bytes that the others may hold so that the wanted files have bytes and inodes; empty if no eviction frees as many
/// inodes. Evictions go by bytes, in one order, so those for inodes are given as bytes.
std::optional<std::uint64_t> bytes_for_others(const Survey& survey, const SpaceWanted& wanted, system::WallTime now) {
  const std::uint64_t by_bytes = survey.bound - wanted.bytes;
  if (survey.free_files >= wanted.new_files) return by_bytes;
  std::uint64_t files = survey.free_files;
  std::uint64_t held = survey.held;
  for (const StagedFolder& folder : to_evict(survey.others, 0, now)) {
    if (files >= wanted.new_files) break;
    files += folder.files;
    held -= folder.removable_bytes();
  }
  if (files < wanted.new_files) return std::nullopt;
  return std::min(by_bytes, held);
}

Survey survey_of(const std::string& root, const SpaceWanted& wanted, system::WallTime now,
                 const std::stop_token& stop) {
  Survey survey;
  survey.others = staged_folders(root, stop);
  const system::FreeSpace free = system::free_space(root);
  survey.free_files = free.files;
  survey.bound = free.bytes;
  for (const StagedFolder& folder : survey.others) survey.bound += folder.present_bytes();
  survey.by_disk = !wanted.limit || survey.bound < *wanted.limit;
  if (!survey.by_disk) survey.bound = *wanted.limit;
  const fs::path own = resolved_path(wanted.folder);
  std::erase_if(survey.others, [&](const StagedFolder& folder) { return resolved_path(folder.path) == own; });
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
  const auto left = bytes_for_others(survey, wanted, now);
  if (!left) {
    throw Error(ErrorCode::no_space, At{root},
                "{} are needed for '{}', but the disk of cache '{}' has inodes for {}, also after evictions; remove "
                "files there, or choose a disk with more inodes",
                format_count(wanted.new_files, "file"), wanted.folder, root, format_count(survey.free_files, "file"));
  }
  survey.left = *left;
  if (survey.held > survey.left + freed_bytes(to_evict(survey.others, survey.left, now))) {
    throw Error(ErrorCode::no_space, no_space_text(root, wanted, survey, now), root);
  }
  return survey;
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

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

/// A journal is a file that anybody may have written into.
bool can_be_a_file(const std::string& name, const std::string& folder) {
  try {
    catalog::check_names({name}, folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Opens a folder on the path of a file; not open if it is missing or a link is in the path.
io::File folder_without_links(const io::ContainedFolder& root, const std::string& relative) {
  try {
    auto folder = root.folder(relative, false);
    return folder ? std::move(*folder) : io::File();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::conflict) return {};
    throw;
  }
}

/// Removes the file, if it is that kind of file.
void remove_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  const io::File folder = folder_without_links(root, folder_of(name));
  if (folder && io::standing_at(folder, last_part(name)) == io::Standing::file)
    files.remove_below(folder, last_part(name));
}

void remove_durably(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  remove_file(files, root, name);
  files.sync_directory(io::join_path(root.path(), folder_of(name)));
}

/// Removes the folders of files with these names, if nothing else is in them.
void remove_empty_folders(const io::ContainedFolder& root, const StageJournal::State& journal) {
  std::set<std::string, std::greater<>> folders;  // deeper folders come first
  for (const auto& [name, file] : journal.files) {
    for (std::string up = folder_of(name); !up.empty() && folders.insert(up).second;) up = folder_of(up);
  }
  for (const std::string& folder : folders) {
    if (folder_without_links(root, folder_of(folder))) root.remove_if_empty(folder);
  }
}

/// Parts of files, with their logs.
Leftovers sweep_partials(io::FileSystem& files, const io::ContainedFolder& root, bool remove) {
  Leftovers found;
  const io::File partials = folder_without_links(root, kPartialFolderPath);
  if (!partials) return found;
  for (const std::string& name : io::names_in(partials)) {
    if (io::standing_at(partials, name) != io::Standing::file) continue;
    struct stat info {};
    const bool known = ::fstatat(partials.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) found += {1, io::allocated_bytes(info)};
    if (remove) files.remove_below(partials, name);
  }
  return found;
}

/// Temporary files of killed processes; returns their number.
std::uint64_t remove_temps(io::FileSystem& files, const std::string& folder) {
  std::uint64_t removed = 0;
  for (const char* part : {"", kStateFolderPath, kLeaseFolderPath}) {
    removed += io::remove_stale_temps(files, io::join_path(folder, part));
  }
  return removed;
}

/// The journal of a folder; what its marker restores of a lost one is written before that marker is removed.
StageJournal::State restored_journal(io::FileSystem& files, const std::string& folder) {
  const std::string path = io::join_path(folder, kStageJournalPath);
  StageJournal::State journal = journal_of(folder);
  if (journal.files.size() == StageJournal::read(path).files.size()) return journal;
  try {
    StageJournal::rewrite(files, path, journal);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;  // the eviction makes some
  }
  return journal;
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
  evict_to(survey.others, survey.left, now, [&](StagedFolder& folder) {
    const bool is_evicted = try_evict(files, root, folder, now, stop);
    if (is_evicted) evicted(folder);
    return is_evicted;
  });
  if (held_bytes(survey.others, now) > survey.left)
    throw Error(ErrorCode::no_space, no_space_text(root, wanted, survey, now), root);
}

bool try_evict(io::FileSystem& files, const std::string& root, StagedFolder& folder, system::WallTime now,
               const std::stop_token& stop) {
  try {
    if (!evict(files, folder.path, now, stop)) return false;
    log_eviction(files, root, folder, now);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return true;  // somebody removed all of it
    if (error.code() != ErrorCode::denied) throw;
    folder.state = StagedState::unreadable;
    folder.fault = error.what();
    return false;
  }
}

std::vector<StagedFolder> evict_to(std::vector<StagedFolder>& folders, std::uint64_t limit, system::WallTime now,
                                   const std::function<bool(StagedFolder&)>& evict) {
  std::vector<StagedFolder> evicted;
  while (true) {
    std::vector<StagedFolder> evictable = to_evict(folders, limit, now);
    if (evictable.empty()) return evicted;
    for (StagedFolder& folder : evictable) {
      const auto found = std::ranges::find(folders, folder.path, &StagedFolder::path);
      if (!evict(*found)) {
        found->at_work = found->state != StagedState::unreadable;
        continue;
      }
      evicted.push_back(std::move(folder));
      if (found->found_bytes == 0) {
        folders.erase(found);
      } else {
        found->bytes = found->found_bytes;
        found->partial_bytes = 0;
        found->arrived_bytes = 0;
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
  if (lease.is_held) return "stop its `cache hold`";
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

bool evict(io::FileSystem& files, const std::string& folder, system::WallTime now, const std::stop_token& stop) {
  const io::ContainedFolder root(folder);
  if (!root.folder(kStateFolderPath, false)) return true;  // gone meanwhile
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive) || are_live(read_leases(folder), now)) return false;
  const StageJournal::State journal = restored_journal(files, folder);
  StageJournal::State found = journal;
  std::erase_if(found.files, [](const auto& item) { return !item.second.found; });
  remove_durably(files, root, kStagedMarkerPath);
  for (const auto& [name, file] : journal.files) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while evicting", folder);
    if (!file.found) remove_staged_file(files, root, name);
  }
  sweep_partials(files, root, true);
  remove_leases(files, folder, [&](const LeaseFile& lease) { return !lease.lives_at(now); });
  remove_temps(files, folder);
  remove_file(files, root, kStagedMarkerLockPath);
  remove_file(files, root, kHitsPath);
  if (found.files.empty()) {
    remove_durably(files, root, kStageJournalPath);
  } else {
    StageJournal::rewrite(files, io::join_path(folder, kStageJournalPath), found);  // they still take space
  }
  root.remove_if_empty(kPartialFolderPath);
  root.remove_if_empty(kLeaseFolderPath);
  remove_empty_folders(root, journal);
  return true;
}

bool discard(io::FileSystem& files, const std::string& folder, const std::vector<std::string>& names,
             system::WallTime now) {
  const io::ContainedFolder root(folder);
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive)) return false;
  StageJournal::State journal = journal_of(folder);
  for (const std::string& name : names) {
    if (const auto file = journal.files.find(name); file != journal.files.end()) file->second.pin = kDamagedPin;
  }
  StageJournal::rewrite(files, io::join_path(folder, kStageJournalPath), journal);
  remove_durably(files, root, kStagedMarkerPath);
  for (const std::string& name : names) {
    if (journal.files.contains(name) && !are_live(read_leases(folder), now)) remove_staged_file(files, root, name);
  }
  return true;
}

Leftovers sweep_leftovers(io::FileSystem& files, const std::string& folder, system::WallTime now, bool remove) {
  const io::ContainedFolder root(folder);
  io::FolderLock lock(io::join_path(folder, kStageLockPath));
  if (!lock.try_take(io::LockMode::exclusive)) return {};
  const auto has_ended = [&](const LeaseFile& lease) { return !lease.lives_at(now); };
  Leftovers found;
  if (remove) {
    found.files = remove_leases(files, folder, has_ended) + remove_temps(files, folder);
  } else {
    const auto leases = read_leases(folder);
    found.files = static_cast<std::uint64_t>(std::ranges::count_if(leases, has_ended));
  }
  if (!are_live(read_leases(folder), now)) found += sweep_partials(files, root, remove);
  return found;
}

void remove_staged_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name) {
  if (can_be_a_file(name, root.path())) remove_file(files, root, name);
}

Leftovers& Leftovers::operator+=(const Leftovers& more) {
  files += more.files;
  bytes += more.bytes;
  return *this;
}

}  // namespace shardkit::staging
