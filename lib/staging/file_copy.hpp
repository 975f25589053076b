#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.hpp"
#include "io/file_system.hpp"
#include "staging/stage_set.hpp"
#include "sync/loan_pool.hpp"

namespace shardkit::staging {

/// The bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const ByteRange&) const = default;
};

/// Some bytes of a file, as ranges that neither touch nor overlap.
class RangeSet {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);
  void clear() { ends_.clear(); }

  /// Bytes in the set.
  std::uint64_t total() const;
  /// The first byte at or after `from` that is not in the set.
  std::uint64_t end_of_run(std::uint64_t from) const;
  /// The first bytes of [0, size) that are not in the set; empty if there are none.
  std::optional<ByteRange> first_gap(std::uint64_t size) const;
  /// In ascending order.
  std::vector<ByteRange> ranges() const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< end by begin
};

/// Which bytes of a partial file are durable, and which file it is.
struct PartRecord {
  std::string name;  ///< of the object, relative to its source
  std::string pin;   ///< StageFile::pin()
  std::uint64_t size = 0;
  RangeSet durable = {};

  bool is_of(const StageFile& file) const {
    return name == file.object.name && pin == file.pin() && size == file.object.size;
  }
};

/// The content of a part log (formats.md, "Part log"): a line that identifies the bytes, then lines that each list
/// all ranges that were durable by then; the last whole line counts. Empty for anything else.
std::optional<PartRecord> read_part_log(std::string_view text);

/// Bytes of the partial file at `path` that its log lists; 0 if it is shorter than the log says, because another
/// process has changed it.
std::uint64_t arrived_bytes(const std::string& path, const RangeSet& durable);

/// The log next to a partial file, with which a copy continues after a kill or a power cut. Written after its bytes
/// were synced, so that it never lists too much. One thread at a time.
class PartLog {
 public:
  PartLog(io::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// Recorded ranges of exactly these bytes; empty if the log is of others or there is none.
  RangeSet read(const StageFile& of) const;
  void record(const StageFile& of, const RangeSet& durable);
  void remove();

 private:
  io::FileSystem& files_;
  std::string path_;
  std::unique_ptr<io::WritableFile> file_;
};

/// Thrown by FileCopy::write() if the received bytes are no longer needed.
struct OutdatedBytes {};

/// Thrown by FileCopy::finish_hash() for bytes [begin, end) that differ from the manifest after a second read.
struct WrongPart {
  ByteRange range;
  Hash128 hash;               ///< of these bytes
  bool reads_differ = false;  ///< the first read had other bytes
};

/// Limits what a disk is doing at any moment, so that a stop is followed within 2 s by one that writes 20 MB/s: 16
/// writes of a block, and one sync. None begins after a stop: Error{cancelled}. Thread-safe.
class DiskGate {
 public:
  explicit DiskGate(std::stop_token stop = {}) : stop_(std::move(stop)) {}

  void write(const std::function<void()>& action) { pass(writes_, action); }
  void sync(const std::function<void()>& action) { pass(syncs_, action); }

 private:
  struct Permit {};
  void pass(sync::LoanPool<Permit>& turns, const std::function<void()>& action);

  const std::stop_token stop_;
  sync::LoanPool<Permit> writes_{16};
  sync::LoanPool<Permit> syncs_{1};
};

struct CopySteps {
  /// Bytes between two moments at which a file is made durable and can be resumed.
  std::uint64_t save_bytes = 16ULL << 20U;
  /// Maximum time between two such moments, so that slow copies make progress despite repeated kills.
  std::chrono::milliseconds save_every{2000};

  /// Files of at least this size get a separate sync, and bypass the page cache.
  std::uint64_t large_bytes() const { return save_bytes / 4; }
};

/// One file on its way into the folder: which of its bytes have arrived, which are being fetched, and whether they are
/// right. A file with hashes of its parts is compared part by part as they arrive. Of any other, the hash of its
/// beginning is computed as bytes arrive in order, and catches up otherwise. Thread-safe.
///
/// A claimed range must be released, however its fetch ends. The thread that releases the last claimed range of a file
/// that is complete or outdated owns it until it is closed or started over.
class FileCopy {
 public:
  /// Continues with what an earlier copy left in `out`, according to its log. `gate` outlives the copy.
  FileCopy(StageFile file, std::unique_ptr<io::PatchFile> out, PartLog log, const CopySteps& steps, DiskGate& gate);

  const StageFile& file() const { return file_; }
  /// That arrived, or that an earlier copy had stored.
  std::uint64_t stored_bytes() const {
    const std::scoped_lock lock(mutex_);
    return have_.total();
  }
  /// Usable bytes of an earlier copy.
  std::uint64_t resumed_bytes() const { return resumed_; }
  /// True if it must be fetched in one stream.
  bool whole_only() const { return whole_only_; }
  unsigned restarts() const { return restarts_; }
  std::chrono::milliseconds save_every() const { return steps_.save_every; }

  /// The next bytes that no thread fetches, at most `longest`; once an empty range when all have arrived. Empty if
  /// there is nothing to do for another thread.
  std::optional<ByteRange> claim(std::uint64_t longest);

  /// Stores bytes of a claimed range. Throws OutdatedBytes if the copy must start over.
  void write(std::uint64_t offset, Bytes bytes);

  /// Whether each part has a hash.
  bool has_parts() const { return !file_.parts.empty(); }
  /// A whole part was stored, from its first byte on, and has this hash. If it is wrong, it is fetched a second time.
  void compare_part(std::size_t part, const Hash128& hash);

  /// Hashes bytes that arrived out of order, and saves when enough has arrived, or some time ago. Within a claim.
  void hash_and_save(const std::stop_token& stop);
  /// Ends a claim whose bytes up to `reached` were stored. True if the caller must settle the file: it is complete, or
  /// outdated, and no other thread works on it.
  bool release(ByteRange claim, std::uint64_t reached);

  /// The existing bytes will not be used: they are of another version.
  void mark_outdated() { outdated_ = true; }
  bool outdated() const { return outdated_; }

  /// The source sends this file only as a whole. Called with mark_outdated().
  void mark_rangeless() { rangeless_ = true; }
  bool rangeless() const { return rangeless_; }

  /// When settling: starts again with the object as it is now.
  void start_over(const io::ObjectInfo& object);
  /// When settling: starts again in one stream. Does not count as a restart.
  void start_over_as_whole();
  /// When fetching the whole: the stream begins again.
  void rewind();
  /// When settling: the hash of all bytes. Of a file with hashes of parts, reads the parts that were not compared as
  /// they arrived. Empty if some must be fetched a second time, which others may do then. Throws WrongPart for one that
  /// is wrong even so.
  std::optional<Hash128> finish_hash(const std::stop_token& stop);
  /// After finish_hash(), once: how the bytes differ from the checksum of the store, in words; empty if they do not.
  std::optional<std::string> fault_by_store();
  /// When settling, for bytes with a wrong hash: true if an earlier read was wrong in another way.
  bool differs_from_first_read(const Hash128& wrong) { return std::exchange(wrong_, wrong).value_or(wrong) != wrong; }
  /// Parts that were fetched a second time.
  unsigned parts_refetched() const { return parts_refetched_; }
  /// When settling: makes the whole file durable.
  void sync() { out_->sync(); }
  /// When settling, when everything is durable: removes the log.
  void close();

  /// Makes the arrived bytes durable and adds them to the log, unless another thread is doing it.
  void save();

 private:
  void prepare();
  void forget();
  void catch_up(const std::stop_token& stop);
  void hash_stored(const BodyWriter& hash, ByteRange range, const std::stop_token& stop);
  void add_to_hashes(Bytes bytes);
  void begin_hashes();
  bool check_parts(const std::stop_token& stop);
  void drop_part(std::size_t part, const Hash128& wrong);

  StageFile file_;
  const CopySteps steps_;
  DiskGate& gate_;
  std::unique_ptr<io::PatchFile> out_;
  std::atomic<bool> outdated_ = false;
  std::atomic<bool> rangeless_ = false;
  std::atomic<bool> whole_only_ = false;
  std::atomic<unsigned> restarts_ = 0;
  std::uint64_t resumed_ = 0;

  mutable std::mutex mutex_;
  RangeSet have_;
  RangeSet taken_;  ///< arrived, or claimed
  unsigned claims_ = 0;
  bool settling_ = false;
  Xxh3Stream hash_;
  std::optional<ChecksumStream> store_hash_;  ///< if the store reports a checksum
  std::uint64_t hashed_ = 0;                  ///< both are of [0, hashed_)
  bool catching_up_ = false;
  struct Part {
    bool right = false;
    std::optional<Hash128> wrong = {};  ///< the hash of its first read, if that was wrong
  };
  std::vector<Part> parts_;       ///< of those with a hash
  std::optional<Hash128> wrong_;  ///< the hash of the wrong bytes before the last restart
  std::atomic<unsigned> parts_refetched_ = 0;
  std::uint64_t unsaved_ = 0;
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();

  std::mutex save_mutex_;
  PartLog log_;
};

}  // namespace shardkit::staging
