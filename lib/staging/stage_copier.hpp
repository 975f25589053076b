#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "io/file.hpp"
#include "io/object_source.hpp"
#include "staging/file_copy.hpp"
#include "staging/stage_target.hpp"
#include "sync/climbing_workers.hpp"

namespace shardkit::staging {

/// Which bytes to fetch next, of all files of a set: a worker stays with its file, so that its bytes come in order,
/// then takes the next file, and helps with others' when there is none. Files that another process is fetching are
/// looked at again until they are there or that process is gone. Thread-safe.
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
    /// Called before anybody waits for another process: what we hold back it may be waiting for.
    std::function<void()> before_wait;
  };

  CopyQueue(std::size_t files, Calls calls) : files_(files), calls_(std::move(calls)) {}

  struct Work {
    std::shared_ptr<FileCopy> copy;
    ByteRange range;
  };
  /// Waits for something to do; `last` is what the caller worked on, or null. Empty when all files are there. Throws
  /// Error{cancelled} on a stop, and what `open` throws.
  std::optional<Work> next(std::shared_ptr<FileCopy> last, std::uint64_t longest, const std::stop_token& stop);

  /// The file is there.
  void finished(const std::shared_ptr<FileCopy>& copy);
  /// Something can be claimed again.
  void wake();

  /// Files being fetched: what is left when the work ended before its time.
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

/// A file whose bytes are all here and right.
struct CopiedFile {
  std::shared_ptr<FileCopy> copy;
  Hash128 hash;
};

/// Gathers small files, so that one wait for the disk makes many of them durable. Thread-safe.
class SmallFiles {
 public:
  /// `commit` makes the files of a batch durable and gives them their names; batches may be under way side by side.
  using Commit = std::function<void(const std::vector<CopiedFile>& batch)>;
  struct Limits {
    std::uint64_t largest = 0;  ///< bytes of a small file: a sync of its own would cost more
    std::size_t files = 256;    ///< in a batch; each is open, as it holds the lock of its partial file
  };
  SmallFiles(const Limits& limits, Commit commit) : limits_(limits), commit_(std::move(commit)) {}

  bool takes(std::uint64_t bytes) const { return bytes <= limits_.largest; }

  /// Commits the batch that this file fills up.
  void add(CopiedFile file);
  /// Commits what is gathered.
  void flush();

 private:
  const Limits limits_;
  const Commit commit_;
  std::mutex mutex_;
  std::vector<CopiedFile> batch_;
  std::uint64_t bytes_ = 0;
};

/// What is wrong with a file at `path` whose bytes have the hash `found`, in words; empty when nothing is, as far as
/// can be told. An index has no checksum in the manifest but one in itself, and says which shard it belongs to.
std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found);

/// Files in a target under their own names: which are there, and how one gets there. Thread-safe.
class FilePublisher {
 public:
  /// What is referred to outlives the placer; `target` is joined.
  FilePublisher(io::FileSystem& files, StageTarget& target) : files_(files), target_(target) {}

  /// Whether the target holds the file already. One that nobody's journal knows is taken over when its bytes are right;
  /// else Error{conflict}. One that the journal knows with other bytes is ours to replace.
  bool is_in_place(const StageFile& file, const std::stop_token& stop);

  /// Gives files that are durable their names. Throws Error{conflict} where a stranger's file has come there meanwhile.
  /// Who sees a name may rely on its bytes; who sees a record looks for the name too.
  void put(const std::vector<CopiedFile>& batch);

 private:
  bool is_right_copy(const StageFile& file, const std::string& path, const std::stop_token& stop);
  void make_parent(const std::string& name);

  io::FileSystem& files_;
  StageTarget& target_;
  std::mutex mutex_;
  std::set<std::string> folders_;  ///< that are there, below the target
};

/// How many bytes one request asks for. A request costs a wait for its first byte: where that wait is more than a
/// twentieth of its time, requests grow to four times the size they start with; who is asked for fewer requests goes
/// back to where he began. Thread-safe.
class RangeSize {
 public:
  explicit RangeSize(std::uint64_t start) : start_(start), bytes_(start) {}

  /// The size now. Near the end it is no more than a share of `left` bytes for each of `requests` under way, so that
  /// all of them have something to do; never less than at the start.
  std::uint64_t bytes(std::uint64_t left, unsigned requests) const;

  /// A request of the present size has taken `seconds`, of which the first passed before its first byte.
  void took(double seconds_to_first_byte, double seconds);
  void throttled();

 private:
  const std::uint64_t start_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_;
  int slow_starts_ = 0;  ///< in a row
};

/// Stores the bytes of one claimed range, gathered into blocks that go past the page cache. One thread; reusable.
class RangeWriter {
 public:
  static constexpr std::size_t kBlock = 1U << 20U;

  /// Begins a range at `offset`; what was not flushed before is dropped. The copy outlives the range.
  void begin(FileCopy& copy, std::uint64_t offset);
  void take(Bytes bytes);
  /// Stores what is gathered: at the end of a range.
  void flush();

  /// The end of what is stored.
  std::uint64_t stored() const { return stored_; }

 private:
  void store(Bytes bytes);

  FileCopy* copy_ = nullptr;
  io::AlignedBuffer buffer_;
  std::size_t gathered_ = 0;
  std::uint64_t stored_ = 0;
};

struct CopyLimits {
  unsigned start = 16;     ///< requests under way at first
  unsigned maximum = 128;  ///< never more
  /// What a request asks for at first.
  std::uint64_t range_bytes = 16ULL << 20U;
  CopySteps steps;
  /// Called with the size of each piece before it is stored; waits to keep to a rate. May be empty.
  std::function<void(std::uint64_t bytes, const std::stop_token& stop)> pace;
  /// Whether the source has asked for fewer requests since the last call. Thread-safe; may be empty.
  std::function<bool()> throttled = {};
};

/// Brings files from a source to a target, checked: one pool of requests for ranges of all of them.
class StageCopier {
 public:
  /// What is referred to outlives the copier; `target` is joined.
  StageCopier(io::FileSystem& files, io::ObjectSource& source, StageTarget& target, CopyLimits limits, Context& ctx);

  /// Sees to it that the target holds all of `wanted`: keeps what is there, goes on where an earlier copy stopped,
  /// waits for what another process brings, else copies. Bytes that are not what they should be, or that changed
  /// meanwhile, are fetched a second time before the source is called corrupt (or, Error{io}, in use). However it
  /// ends, what is resumable is kept. Once.
  void bring(const std::vector<StageFile>& wanted);

  std::uint64_t bytes_fetched() const { return fetched_; }
  /// Bytes that were in the target, or that others brought meanwhile.
  std::uint64_t bytes_reused() const { return reused_; }
  /// Files that were in the target, or that others brought meanwhile.
  std::uint64_t files_reused() const { return files_reused_; }
  /// Files that were fetched a second time.
  std::uint64_t refetched() const { return refetched_; }
  /// Objects that changed while they were copied, as they are now. Once bring() is over.
  const std::vector<io::ObjectInfo>& changed() const { return changed_; }

 private:
  CopyQueue::Opened open(const StageFile& file);
  void count_present(const StageFile& file);
  void show_progress_elsewhere(const StageFile& file);
  std::uint64_t forget_elsewhere(const StageFile& file);

  sync::ClimbingWorkers::Step worker();
  void fetch(const CopyQueue::Work& work, RangeWriter& writer, const std::stop_token& stop);
  io::Fetched fetch_range(FileCopy& copy, ByteRange range, RangeWriter& writer, const std::stop_token& stop);
  io::Fetched fetch_part(FileCopy& copy, ByteRange range, const BodyWriter& write, const std::stop_token& stop);
  void came(std::uint64_t bytes, const std::stop_token& stop);
  void settle(const std::shared_ptr<FileCopy>& copy, const std::stop_token& stop);
  void start_over(const std::shared_ptr<FileCopy>& copy, const Error& reason);
  void keep_unfinished() noexcept;

  io::FileSystem& files_;
  io::ObjectSource& source_;
  StageTarget& target_;
  const CopyLimits limits_;
  Context& ctx_;
  const std::vector<StageFile>* wanted_ = nullptr;
  FilePublisher placer_;
  SmallFiles small_files_;
  std::unique_ptr<CopyQueue> queue_;
  sync::ClimbingWorkers workers_;
  RangeSize range_size_;
  std::atomic<std::uint64_t> left_{0};  ///< bytes that are not here yet, about
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::atomic<std::uint64_t> files_reused_{0};
  std::atomic<std::uint64_t> refetched_{0};
  std::mutex changed_mutex_;
  std::vector<io::ObjectInfo> changed_;
  std::mutex elsewhere_mutex_;
  std::map<std::string, std::uint64_t> elsewhere_;  ///< what the progress has of files that other processes bring
};

}  // namespace shardkit::staging
