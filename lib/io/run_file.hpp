#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "system/clock.hpp"

/// Processes that work in a folder announce it there, so that others do not undo their work (formats.md, "Run").
namespace shardkit::io {

/// A live process, as its file describes it. An unreadable file counts as one without a host.
struct Run {
  std::string host;
  std::uint64_t process = 0;  ///< its number on that host, or in its container
  std::string started_at;     ///< RFC 3339
  std::string plan;           ///< what it works on: only runs with equal ones may work together; empty: not decided
  std::string part = {};      ///< which share of it, such as "2/16"; empty: all of it, or not decided
};

/// "process 4711 on host 'node3', since 2026-01-02T03:04:05Z"
std::string describe(const Run& run);

/// The processes that the locks of a folder's files reach: all of them, or perhaps only those of this machine or
/// container, as on NFS, Lustre and FUSE.
enum class LockReach { everyone, perhaps_not };
LockReach lock_reach(const std::string& folder);

/// Without a sign of life for this long, a process that no lock can show counts as dead.
inline constexpr std::chrono::seconds kRunSilence{120};

/// Whether a file has the name of a RunFile.
bool is_run_name(std::string_view name);

/// The file "<16 random digits>.run" of a process in `folder`. While this object lives, the file is locked, and written
/// again every 15 s by a thread, which sleeps otherwise: that is the sign of life where locks do not reach. One thread
/// at a time, except for require().
class RunFile {
 public:
  /// Announces a run without a plan. Throws the errors of publish().
  RunFile(OutputFiles& files, std::string folder);
  ~RunFile();
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  /// Removes the files of runs that have died.
  void remove_dead();
  /// Announces the plan.
  void follow(std::string plan);
  /// Announces the share of the plan.
  void take(std::string part);
  /// The other live runs, in no order.
  std::vector<Run> others() const;
  /// Throws Error{in_use} if another process removed the file, because this one gave no sign of life: its plan may have
  /// been discarded. Thread-safe.
  void require() const;

 private:
  void announce();
  void beat(const std::stop_token& stop);

  OutputFiles& files_;
  const std::string folder_;
  const std::string path_;
  Run run_;
  std::unique_ptr<AtomicFile> file_;  ///< committed; open, so that its lock is held
  std::mutex mutex_;                  ///< guards run_ and file_ against the thread
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last: starts when everything else is ready
};

/// The live runs of `folder`, except for that in the file called `own`: those with a lock, and where locks may not
/// reach, those that gave a sign of life since kRunSilence before `now` by the clock of the file system.
std::vector<Run> live_runs(const std::string& folder, LockReach reach, system::WallTime now, std::string_view own = {});

/// All runs of `folder` whose files exist: the live ones, and those that were killed since the last run began.
std::vector<Run> announced_runs(const std::string& folder);

}  // namespace shardkit::io
