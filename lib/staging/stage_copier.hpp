#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "io/block_writer.hpp"
#include "io/object_source.hpp"
#include "staging/file_copy.hpp"
#include "staging/peers.hpp"
#include "staging/stage_target.hpp"
#include "sync/rate_climber.hpp"
#include "sync/worker_pool.hpp"

namespace shardkit::staging {

/// Which bytes to fetch next, of all files of a set: a worker stays with its file, so that its bytes arrive in order,
/// then takes the next file, and helps with other files if there is none. Files fetched by another process are checked
/// until they are complete or that process ends. Thread-safe.
class CopyQueue {
 public:
  struct Opened {
    enum class As { in_place, elsewhere, copy };
    As as = As::in_place;
    std::shared_ptr<FileCopy> copy;
  };
  struct Calls {
    /// Opens the file of that number.
    std::function<Opened(std::size_t number)> open;
    /// Called before waiting for another process, which may be waiting for data that we hold back.
    std::function<void()> before_wait;
  };

  CopyQueue(std::size_t files, Calls calls) : files_(files), calls_(std::move(calls)) {}

  struct Work {
    std::shared_ptr<FileCopy> copy;
    ByteRange range;
  };
  /// Waits for work; `last` is what the caller worked on, or null. Empty when all files are complete. Throws
  /// Error{cancelled} on a stop, and the errors of `open`.
  std::optional<Work> next(std::shared_ptr<FileCopy> last, std::uint64_t longest, const std::stop_token& stop);

  /// The file is complete.
  void finished(const std::shared_ptr<FileCopy>& copy);
  /// There is something to claim again.
  void wake();

  /// Files in progress when the work ended early.
  std::vector<std::shared_ptr<FileCopy>> unfinished();

 private:
  std::optional<std::size_t> take_unopened();
  std::shared_ptr<FileCopy> open_one(std::size_t number);
  std::optional<Work> help(std::uint64_t longest);
  bool look_elsewhere(std::unique_lock<std::mutex>& lock);
  void note_change();

  const std::size_t files_;
  const Calls calls_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<std::uint64_t> changes_{0};  ///< so far, of what a worker may wait for
  std::size_t next_ = 0;
  std::size_t opening_ = 0;
  std::vector<std::shared_ptr<FileCopy>> open_;
  std::vector<std::size_t> elsewhere_;
  bool looking_elsewhere_ = false;
};

/// Collects small files, so that one wait for the disk makes many of them durable. Thread-safe.
class SmallFiles {
 public:
  /// `commit` makes the files of a batch durable and renames them; several threads may call it.
  using Commit = std::function<void(const std::vector<CopiedFile>& batch)>;
  /// `most_files` are in a batch; each is open, as it holds the lock of its partial file.
  SmallFiles(std::size_t most_files, Commit commit) : most_files_(most_files), commit_(std::move(commit)) {}

  /// Commits the batch if this file fills it.
  void add(CopiedFile file);
  /// Commits the collected files; with `age`, only if the first of them waits for that long.
  void flush(std::chrono::milliseconds age = {});

 private:
  const std::size_t most_files_;
  const Commit commit_;
  std::mutex mutex_;
  std::vector<CopiedFile> batch_;
  std::uint64_t bytes_ = 0;
  std::chrono::steady_clock::time_point since_;  ///< the first of the batch was added
};

/// Size of one request. A request costs a wait for its first byte: if that is more than a twentieth of its time,
/// requests grow to up to four times the initial size. If the source wants fewer requests, the size returns to the
/// initial one. Thread-safe.
class RangeSize {
 public:
  explicit RangeSize(std::uint64_t start) : start_(start), bytes_(start) {}

  /// The current size. Near the end it is at most a share of `left` bytes for each of `requests` in flight, so that all
  /// of them have work; never less than the initial size.
  std::uint64_t bytes(std::uint64_t left, unsigned requests) const;

  /// A request of the current size took `seconds`, of which the first part passed before its first byte.
  void took(double seconds_to_first_byte, double seconds);
  void throttled();

 private:
  const std::uint64_t start_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_;
  int slow_starts_ = 0;  ///< in a row
};

/// Stores the bytes of one claimed range in blocks; those of a slow source also after some time. Compares the parts
/// that lie in the range. One thread; reusable.
class RangeWriter {
 public:
  /// Begins a range at `offset`; unflushed bytes are dropped. The copy outlives the range.
  void begin(FileCopy& copy, std::uint64_t offset);
  void take(Bytes bytes);
  /// Stores the collected bytes: at the end of a range.
  void flush() { blocks_.flush(); }

  /// End of the stored bytes.
  std::uint64_t stored() const { return blocks_.stored(); }

 private:
  void store(std::uint64_t offset, Bytes block);
  void hash_parts(std::uint64_t offset, Bytes bytes);

  FileCopy* copy_ = nullptr;
  Xxh3Stream part_;
  bool whole_part_ = false;  ///< part_ has all bytes of a part so far
  io::BlockWriter blocks_{io::kBlockBytes, [this](std::uint64_t offset, Bytes block) { store(offset, block); }};
  std::chrono::steady_clock::time_point stored_at_;
};

struct CopyLimits {
  unsigned start = 16;     ///< initial number of requests in flight
  unsigned maximum = 128;  ///< maximum
  /// Initial size of a request.
  std::uint64_t range_bytes = 16ULL << 20U;
  CopySteps steps;
  /// Called with the size of each piece before it is stored; waits to limit the rate. May be empty.
  std::function<void(std::uint64_t bytes, const std::stop_token& stop)> pace = {};
  /// Whether the source has asked for fewer requests since the last call. Thread-safe; may be empty.
  std::function<bool()> throttled = {};
};

/// What a copier did.
struct CopyResult {
  std::uint64_t bytes_fetched = 0;
  std::uint64_t bytes_reused = 0;              ///< that already existed in the target, or that others copied meanwhile
  std::uint64_t files_reused = 0;              ///< that already existed in the target
  std::uint64_t files_by_others = 0;           ///< that other stages copied into the target meanwhile
  std::uint64_t refetched = 0;                 ///< files, and parts of shards, that were fetched a second time
  std::map<std::string, Error> failures = {};  ///< of files that were left out, by their names
  std::vector<io::ObjectInfo> changed = {};    ///< objects that changed while being copied, in their current state
};

/// Copies files from a source to a target, with checks: one pool of range requests for all of them.
class StageCopier {
 public:
  /// Referenced objects outlive the copier; `target` is joined.
  StageCopier(io::FileSystem& files, io::ObjectSource& source, Peers& peers, StageTarget& target, CopyLimits limits,
              Context& context);

  /// Ensures that the target contains all of `wanted`: keeps existing files, continues earlier copies, waits for other
  /// processes, else copies. Files with wrong bytes, or that changed, are fetched a second time before an error is
  /// thrown: corrupt, or Error{io} if in use or removed. Partial copies are kept in any case. Call once.
  CopyResult copy_all(const std::vector<StageFile>& wanted);

 private:
  CopyQueue::Opened open(const StageFile& file);
  void count_present(const StageFile& file);
  void show_progress_elsewhere(const StageFile& file);
  std::uint64_t forget_elsewhere(const StageFile& file);

  sync::WorkerPool::Step worker();
  void fetch(const CopyQueue::Work& work, RangeWriter& writer, const std::stop_token& stop);
  io::Fetched fetch_range(FileCopy& copy, ByteRange range, RangeWriter& writer, const std::stop_token& stop);
  io::Fetched fetch_part(FileCopy& copy, ByteRange range, const BodyWriter& write, const std::stop_token& stop);
  void came(std::uint64_t bytes, const std::stop_token& stop);
  void forget_progress(const FileCopy& copy);
  bool leave_out(FileCopy& copy, const Error& error);
  bool is_left_out(const FileCopy& copy) const;
  void settle(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop);
  [[noreturn]] void give_up(const std::shared_ptr<FileCopy>& copy, const Error& reason);
  void finish(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop);
  void start_over(const std::shared_ptr<FileCopy>& copy, const Error& reason);
  void commit(const std::vector<CopiedFile>& batch);
  void keep_unfinished() noexcept;

  io::FileSystem& files_;
  io::ObjectSource& source_;
  Peers& peers_;
  StageTarget& target_;
  const CopyLimits limits_;
  Context& context_;
  DiskGate gate_;
  SmallFiles small_files_;
  std::unique_ptr<CopyQueue> queue_;
  sync::WorkerPool workers_;
  sync::RateClimber climber_;
  RangeSize range_size_;
  std::map<std::string, StagedFile> journal_before_;
  std::atomic<std::uint64_t> left_{0};  ///< approximate number of missing bytes
  std::atomic<std::uint64_t> fetched_{0};

  mutable std::mutex mutex_;  ///< guards the members below
  CopyResult result_;
  std::uint64_t fetched_at_failure_ = 0;
  unsigned unreachable_ = 0;  ///< files that failed by the network, with no byte received in between
  std::map<std::string, std::uint64_t> elsewhere_;  ///< bytes in the progress from files of other processes
};

}  // namespace shardkit::staging
