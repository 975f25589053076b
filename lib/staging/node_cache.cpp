#include "staging/node_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "io/publish.hpp"
#include "staging/eviction.hpp"
#include "staging/stage_layout.hpp"
#include "system/free_space.hpp"

namespace shardkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCacheLockName = ".shardkit-cache.lock";
constexpr std::size_t kMostNamed = 5;

/// What is to fit where, at one moment.
struct Survey {
  std::vector<StagedFolder> others;  ///< all but the folder that room is wanted for
  std::uint64_t held = 0;            ///< by them
  std::uint64_t bound = 0;           ///< for them and what is wanted
  bool by_disk = false;              ///< the file system is what bounds
};

Survey survey_of(const std::string& root, const RoomWanted& wanted, WallTime now, const std::stop_token& stop) {
  Survey survey;
  survey.others = staged_folders(root, stop);
  survey.bound = free_bytes(root);
  for (const StagedFolder& folder : survey.others) survey.bound += folder.present_bytes();
  survey.by_disk = !wanted.limit || survey.bound < *wanted.limit;
  if (!survey.by_disk) survey.bound = *wanted.limit;
  const fs::path own = fs::weakly_canonical(wanted.folder);
  std::erase_if(survey.others, [&](const StagedFolder& folder) { return fs::weakly_canonical(folder.path) == own; });
  survey.held = held_bytes(survey.others, now);
  return survey;
}

/// The folders that stay whatever is done, in words.
std::string uses(const std::vector<StagedFolder>& folders, WallTime now) {
  std::string text;
  std::size_t named = 0;
  for (const StagedFolder& folder : folders) {
    if (is_evictable(folder, now)) continue;
    if (++named <= kMostNamed) text += (text.empty() ? "" : "; ") + describe_use(folder, now);
  }
  if (named > kMostNamed) text += fmt::format("; and {} more", named - kMostNamed);
  return text;
}

Error no_room(const std::string& root, const RoomWanted& wanted, const Survey& survey, WallTime now) {
  const std::string bound = survey.by_disk ? fmt::format("its file system has room for {}", format_size(survey.bound))
                                           : fmt::format("--limit allows {}", format_size(survey.bound));
  const std::string used = uses(survey.others, now);
  return Error(
      ErrorCode::no_space,
      fmt::format("{} are needed in '{}', and in '{}' {}{}{}; end leases that nobody needs with 'shardctl cache "
                  "release'{}",
                  format_size(wanted.bytes), wanted.folder, root, bound, used.empty() ? "" : ", where ", used,
                  survey.by_disk ? ", or choose a larger disk" : ", or give a higher --limit"),
      root);
}

/// Why folders stayed that were to go, by path; empty: somebody came to use it.
using Stayed = std::map<std::string, std::string>;

/// What has to go; throws when that is not enough.
std::vector<StagedFolder> plan(const std::string& root, const RoomWanted& wanted, WallTime now, const Stayed& stayed,
                               const std::stop_token& stop) {
  Survey survey = survey_of(root, wanted, now, stop);
  for (StagedFolder& folder : survey.others) {
    const auto found = stayed.find(folder.path);
    if (found != stayed.end()) keep(folder, found->second);
  }
  if (wanted.bytes > survey.bound) throw no_room(root, wanted, survey, now);
  const std::uint64_t left = survey.bound - wanted.bytes;
  std::vector<StagedFolder> leaving = to_evict(survey.others, left, now);
  if (survey.held > left + held_bytes(leaving, now)) throw no_room(root, wanted, survey, now);
  return leaving;
}

}  // namespace

FolderLock lock_cache(FileSystem& files, const std::string& root, const std::stop_token& stop) {
  files.create_directories(root);
  const std::string state = join_path(root, kStateFolderPath);
  // Readers of a staged folder are not to meet a file that no stage brought.
  const bool is_staged = fs::is_directory(state) && look_at_staged(root);
  return FolderLock(join_path(is_staged ? state : root, kCacheLockName), stop);
}

void check_room(const std::string& root, const RoomWanted& wanted, WallTime now, const std::stop_token& stop) {
  if (fs::is_directory(root)) plan(root, wanted, now, {}, stop);
}

std::vector<StagedFolder> make_room(FileSystem& files, const std::string& root, const RoomWanted& wanted, WallTime now,
                                    const std::stop_token& stop) {
  std::vector<StagedFolder> gone;
  Stayed stayed;  // each is tried once
  while (true) {
    const std::size_t before = stayed.size();
    for (StagedFolder& folder : plan(root, wanted, now, stayed, stop)) {
      std::string refusal;
      if (try_evict(files, folder.path, now, stop, refusal)) {
        gone.push_back(std::move(folder));
      } else {
        stayed[folder.path] = refusal;
      }
    }
    if (stayed.size() == before) return gone;
  }
}

bool try_evict(FileSystem& files, const std::string& folder, WallTime now, const std::stop_token& stop,
               std::string& refusal) {
  try {
    return evict(files, folder, now, stop);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return true;  // somebody removed all of it
    if (error.code() != ErrorCode::denied) throw;
    refusal = error.what();
    return false;
  }
}

void keep(StagedFolder& folder, const std::string& refusal) {
  if (refusal.empty()) {
    folder.at_work = true;
  } else {
    folder.state = StagedState::unreadable;
    folder.fault = refusal;
  }
}

std::vector<StagedFolder> to_evict(std::vector<StagedFolder> folders, std::uint64_t limit, WallTime now) {
  std::uint64_t held = held_bytes(folders, now);
  std::erase_if(folders, [&](const StagedFolder& folder) { return !is_evictable(folder, now); });
  std::ranges::stable_sort(folders, {}, &StagedFolder::last_used);
  std::vector<StagedFolder> leaving;
  for (StagedFolder& folder : folders) {
    if (held <= limit) break;
    held -= folder.held_bytes(now);
    leaving.push_back(std::move(folder));
  }
  return leaving;
}

bool is_evictable(const StagedFolder& folder, WallTime now) {
  // Without a journal nobody knows which files are the stage's.
  return folder.state != StagedState::unreadable && !folder.at_work && !folder.is_leased(now) &&
         !folder.source.empty() && folder.files + folder.partial_bytes > 0;
}

std::string describe_use(const StagedFolder& folder, WallTime now) {
  const std::string start = fmt::format("'{}' ({})", folder.path, format_size(folder.held_bytes(now)));
  if (folder.at_work) return start + " is being staged";
  for (const LeaseFile& lease : folder.leases) {
    if (lease.lives_at(now)) return fmt::format("{} is {}", start, describe(lease));
  }
  if (folder.state == StagedState::unreadable) return fmt::format("{} is beyond this user ({})", start, folder.fault);
  return start + " has no journal of its files and where they come from";
}

std::uint64_t held_bytes(const std::vector<StagedFolder>& folders, WallTime now) {
  std::uint64_t sum = 0;
  for (const StagedFolder& folder : folders) sum += folder.held_bytes(now);
  return sum;
}

}  // namespace shardkit
