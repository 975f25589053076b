#include "staging/staged_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "staging/file_copy.hpp"
#include "staging/lost_journal.hpp"
#include "staging/stage_journal.hpp"
#include "system/network_storage.hpp"
#include "system/storage.hpp"

namespace shardkit::staging {
namespace {

namespace fs = std::filesystem;

system::WallTime time_of(const timespec& time) {
  const auto since = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return system::WallTime(std::chrono::duration_cast<system::WallTime::duration>(since));
}

/// Modification time. Throws Error{denied} if this user may not look.
std::optional<system::WallTime> time_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return time_of(info.st_mtim);
  if (errno == EACCES) throw system_error(errno, "look at", path);
  return std::nullopt;
}

/// The last time that a file was read since it was written, as far as the mount records it; else the epoch.
system::WallTime last_read(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || time_of(info.st_atim) <= time_of(info.st_mtim)) return {};
  return time_of(info.st_atim);
}

/// The content of a folder; nothing if it may not be read, or disappeared meanwhile.
std::vector<fs::path> listing_of(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    paths.push_back(at->path());
  }
  return paths;
}

/// Bytes that the files of a folder occupy on the disk.
std::uint64_t disk_bytes(const std::string& folder) {
  std::uint64_t sum = 0;
  for (const fs::path& path : listing_of(folder)) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0) sum += io::allocated_bytes(info);
  }
  return sum;
}

/// Bytes that the logs of the partial files in `folder` list. A file that another process has just removed counts as
/// empty.
std::uint64_t logged_bytes(const std::string& folder) {
  std::uint64_t sum = 0;
  for (fs::path path : listing_of(folder)) {
    if (path.extension() != kPartLogExtension) continue;
    try {
      const auto record = read_part_log(io::read_text_file(path));
      if (record) sum += arrived_bytes(path.replace_extension(kPartialExtension), record->durable);
    } catch (const Error&) {
      continue;
    }
  }
  return sum;
}

/// Files in the marker that the journal lacks; empty if they agree. A journal may name more: those of a part of the set
/// whose stage was killed.
std::string disagreement(const StagedMarker& marker, const StagedFolder& folder) {
  if (folder.damaged > 0) return fmt::format("{} marked as damaged", format_count(folder.damaged, "file"));
  if (folder.files >= marker.files && folder.bytes >= marker.bytes) return {};
  return fmt::format("its marker lists {} of {}, its journal {} of {}", format_count(marker.files, "file"),
                     format_size(marker.bytes), format_count(folder.files, "file"), format_size(folder.bytes));
}

/// The journal's facts about the folder.
void take_journal(const StageJournal::State& journal, StagedFolder& folder) {
  if (journal.set) {
    folder.source = journal.set->source;
    folder.announced = journal.set->bytes;
  }
  folder.commands = journal.commands;
  folder.files = journal.files.size();
  for (const auto& [name, file] : journal.files) {
    folder.bytes += file.bytes;
    folder.found_bytes += file.found ? file.bytes : 0;
    folder.damaged += file.is_damaged() ? 1 : 0;
    folder.last_used = std::max(folder.last_used, last_read(io::join_path(folder.path, name)));
  }
}

/// The facts of the marker and of the files that it restores, for a journal that lacks some.
void take_marker(const StagedMarker& marker, StageJournal::State& journal, StagedFolder& folder) {
  folder.source = marker.source;
  if (folder.files >= marker.files) return;
  restore_journal(folder.path, marker, journal);
  StagedFolder restored;
  restored.path = folder.path;
  take_journal(journal, restored);
  folder.bytes = restored.files == 0 ? marker.bytes : restored.bytes;
  folder.files = restored.files;
  folder.found_bytes = restored.found_bytes;
  folder.lost_files = marker.files - std::min(marker.files, restored.files);
}

/// State and fault of a folder that was read.
void judge(const std::optional<StagedMarker>& marker, StagedFolder& folder) {
  folder.state = marker ? StagedState::complete : folder.at_work ? StagedState::in_progress : StagedState::partial;
  if (!marker || folder.at_work || !find_staged_marker(folder.path)) return;  // the last: it is evicted just now
  folder.fault = disagreement(*marker, folder);
  if (!folder.fault.empty()) folder.state = StagedState::partial;
}

void find_below(const std::string& folder, int deeper, std::vector<StagedFolder>& found, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while looking for staged folders", folder);
  std::error_code error;
  for (const fs::path& path : listing_of(folder)) {
    const fs::directory_entry entry(path, error);
    const std::string name = entry.path().filename();
    if (is_hidden_or_system(name)) continue;
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    if (auto staged = look_at_staged(entry.path())) found.push_back(std::move(*staged));
    if (deeper > 1) find_below(entry.path(), deeper - 1, found, stop);
  }
}

}  // namespace

std::uint64_t StagedFolder::held_bytes(system::WallTime now) const {
  const bool comes_back = state != StagedState::complete && is_leased(now);
  // Without partial files: with their logs and whole blocks they take more than was announced.
  return (at_work || comes_back) && announced > 0 ? std::max(bytes, announced) : present_bytes();
}

std::optional<StagedFolder> look_at_staged(const std::string& path) {
  StagedFolder folder;
  folder.path = path;
  std::optional<StagedMarker> marker;
  std::optional<system::WallTime> marked;
  std::optional<system::WallTime> written;
  const auto look = [&](const auto& at) {
    try {
      at();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::denied && error.code() != ErrorCode::corrupt) throw;
      folder.state = StagedState::unreadable;
      if (folder.fault.empty()) folder.fault = error.what();
    }
  };
  look([&] { marked = time_of(io::join_path(path, kStagedMarkerPath)); });
  look([&] { written = time_of(io::join_path(path, kStageJournalPath)); });
  if (folder.state == StagedState::unreadable) return folder;
  if (!marked && !written) return std::nullopt;
  folder.last_used = marked.value_or(written.value_or(system::WallTime()));
  // Before the marker: it is removed under the lock and published under it.
  look([&] { folder.at_work = io::is_locked(io::join_path(path, kStageLockPath)); });
  look([&] { marker = find_staged_marker(path); });
  StageJournal::State journal;
  look([&] { journal = StageJournal::read(io::join_path(path, kStageJournalPath)); });
  take_journal(journal, folder);
  look([&] { folder.leases = read_leases(path); });
  for (const LeaseFile& file : folder.leases) {
    if (file.lease) folder.last_used = std::max(folder.last_used, file.lease->taken_at);
  }
  look([&] { folder.hits = size_on_disk(io::join_path(path, kHitsPath)).value_or(0); });
  folder.partial_bytes = disk_bytes(io::join_path(path, kPartialFolderPath));
  folder.arrived_bytes = logged_bytes(io::join_path(path, kPartialFolderPath));
  const bool is_begun = folder.at_work || folder.files + folder.partial_bytes > 0 || !folder.leases.empty();
  if (folder.state != StagedState::unreadable && !marked && !is_begun) return std::nullopt;
  if (folder.state != StagedState::unreadable) judge(marker, folder);
  if (marker) take_marker(*marker, journal, folder);
  folder.marker = std::move(marker);
  return folder;
}

std::vector<StagedFolder> staged_folders(const std::string& root, const std::stop_token& stop) {
  if (!fs::is_directory(root)) {
    throw Error(ErrorCode::not_found, At{root}, "folder '{}' does not exist", root);
  }
  std::vector<StagedFolder> found;
  if (auto staged = look_at_staged(root)) found.push_back(std::move(*staged));
  find_below(root, kDeepestStagedFolder, found, stop);
  std::ranges::sort(found, {}, &StagedFolder::path);
  return found;
}

void mark_used(const std::string& folder) {
  ::utimensat(AT_FDCWD, io::join_path(folder, kStagedMarkerPath).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

namespace {

/// Of a link that leads nowhere the system would say that it does not exist, and that it exists.
void refuse_what_is_no_folder(const std::string& folder) {
  if (catalog::is_address(folder))
    throw Error(ErrorCode::usage, At{folder}, "'{}' is an address; give a folder on this machine",
                without_secrets(folder));
  std::error_code error;
  const fs::file_type type = fs::status(folder, error).type();
  if (type == fs::file_type::directory || type == fs::file_type::none) return;
  const bool is_absent = type == fs::file_type::not_found;
  if (is_absent && !fs::is_symlink(folder, error)) return;
  throw Error(ErrorCode::conflict, At{folder}, "'{}' is {}; give a folder", folder,
              is_absent ? "a link that leads nowhere" : "not a folder");
}

}  // namespace

void require_local_folder(const std::string& folder, Context& context, bool evicts) {
  refuse_what_is_no_folder(folder);
  const system::StorageFacts facts = system::storage_of(fs::canonical(system::nearest_folder(folder)));
  const system::Locality locality = system::locality_of(facts.file_system);
  if (locality == system::Locality::local) return;
  const bool is_fuse = facts.storage_class == system::StorageClass::fuse &&
                       system::fuse_kind(facts.file_system, facts.source) != system::FuseKind::unknown;
  if (is_fuse && !evicts) {
    return context.warn("network_target",
                        "'{}' is on a network file system ({}), whose locks do not reach other machines: use "
                        "it from one machine at a time, or choose a folder on a disk of this machine",
                        folder, facts.file_system);
  }
  if (!is_fuse && locality == system::Locality::unknown) {
    return context.warn(
        "unknown_file_system",
        "'{}' is on a file system of type '{}', which may be shared with other machines, whose locks do "
        "not reach this one: use it from one machine at a time",
        folder, facts.file_system.empty() ? "unknown" : facts.file_system);
  }
  throw Error(ErrorCode::unsupported, At{folder},
              "'{}' is on a network file system ({}); choose a folder on a disk of this machine", folder,
              facts.file_system);
}

}  // namespace shardkit::staging
