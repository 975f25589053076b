#include "staging/staged_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/staged_marker.hpp"
#include "io/file.hpp"
#include "io/folder_lock.hpp"
#include "io/publish.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_layout.hpp"

namespace shardkit {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;
constexpr std::uint64_t kDiskBlock = 512;
constexpr std::uint64_t kLongestMarker = 1U << 20U;

std::optional<WallTime> time_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  const auto since = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  return WallTime(std::chrono::duration_cast<WallTime::duration>(since));
}

/// Bytes that the files of a folder take on the disk.
std::uint64_t disk_bytes(const std::string& folder) {
  std::error_code error;
  std::uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) == 0) sum += static_cast<std::uint64_t>(info.st_blocks) * kDiskBlock;
  }
  return sum;
}

std::optional<StagedMarker> marker_of(const std::string& folder) {
  const std::string path = join_path(folder, kStagedMarkerPath);
  try {
    return read_staged_marker(read_text_file(path, kLongestMarker), path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return std::nullopt;
    throw;
  }
}

/// What the marker says and the journal does not; empty when they agree. A journal may name more: of a part of the set
/// that a stage was killed over.
std::string disagreement(const StagedMarker& marker, const StagedFolder& folder) {
  if (folder.files >= marker.files && folder.bytes >= marker.bytes) return {};
  return fmt::format("its marker says {} of {}, its journal names {} of {}", format_count(marker.files, "file"),
                     format_size(marker.bytes), format_count(folder.files, "file"), format_size(folder.bytes));
}

void find_below(const std::string& folder, int deeper, std::vector<StagedFolder>& found, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while looking for staged folders", folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, error)) {
    if (entry.path().filename().native().starts_with('.')) continue;
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    if (auto staged = look_at_staged(entry.path())) {
      found.push_back(std::move(*staged));
    } else if (deeper > 1) {
      find_below(entry.path(), deeper - 1, found, stop);
    }
  }
}

}  // namespace

bool StagedFolder::is_leased(WallTime now) const {
  return std::ranges::any_of(leases, [&](const LeaseFile& lease) { return lease.lives_at(now); });
}

std::uint64_t StagedFolder::held_bytes(WallTime now) const {
  const bool comes_back = state != StagedState::complete && is_leased(now);
  return at_work || comes_back ? std::max(present_bytes(), announced) : present_bytes();
}

std::optional<StagedFolder> look_at_staged(const std::string& path) {
  const auto marked = time_of(join_path(path, kStagedMarkerPath));
  const auto written = time_of(join_path(path, kStageJournalPath));
  if (!marked && !written) return std::nullopt;
  StagedFolder folder;
  folder.path = path;
  folder.last_used = marked.value_or(written.value_or(WallTime()));
  // Before the marker: it is removed under the lock and published under it.
  folder.at_work = is_locked(join_path(path, kStageLockPath));
  const auto marker = marker_of(path);
  const StageJournal::State journal = StageJournal::read(join_path(path, kStageJournalPath));
  if (journal.set) {
    folder.source = journal.set->source;
    folder.announced = journal.set->bytes;
  }
  if (marker) folder.source = marker->source;
  folder.files = journal.files.size();
  for (const auto& [name, file] : journal.files) folder.bytes += file.bytes;
  if (marker && !folder.at_work && marker_of(path)) folder.fault = disagreement(*marker, folder);  // not if evicted now
  const bool is_whole = marker && folder.fault.empty();
  folder.state = is_whole ? StagedState::complete : folder.at_work ? StagedState::in_progress : StagedState::partial;
  if (marker && journal.files.empty()) folder.bytes = marker->bytes;
  folder.partial_bytes = disk_bytes(join_path(path, kPartialFolderPath));
  folder.leases = read_leases(path);
  return folder;
}

std::vector<StagedFolder> staged_folders(const std::string& root, const std::stop_token& stop) {
  if (!fs::is_directory(root)) {
    throw Error(ErrorCode::not_found, fmt::format("there is no folder '{}'", root), root);
  }
  std::vector<StagedFolder> found;
  if (auto staged = look_at_staged(root)) found.push_back(std::move(*staged));
  find_below(root, kDeepest, found, stop);
  std::ranges::sort(found, {}, &StagedFolder::path);
  return found;
}

void mark_used(const std::string& folder) {
  ::utimensat(AT_FDCWD, join_path(folder, kStagedMarkerPath).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace shardkit
