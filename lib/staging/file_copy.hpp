#pragma once

#include <atomic>
#include <cstdint>
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

namespace shardkit::staging {

/// The bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const ByteRange&) const = default;
};

/// Some bytes of a file, as ranges that neither meet nor overlap.
class RangeSet {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);
  void clear() { ends_.clear(); }

  /// Bytes in the set.
  std::uint64_t total() const;
  /// The first byte at or after `from` that is not in the set.
  std::uint64_t end_of_run(std::uint64_t from) const;
  /// The first bytes of [0, size) that are not in the set; empty when all are.
  std::optional<ByteRange> first_gap(std::uint64_t size) const;
  /// In ascending order.
  std::vector<ByteRange> ranges() const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< end by begin
};

/// Which bytes a partial file is of.
struct PartialOf {
  std::string name;  ///< of the object, relative to its source
  std::string pin;   ///< StageFile::pin()
  std::uint64_t size = 0;

  bool operator==(const PartialOf&) const = default;
};

struct PartRecord {
  PartialOf of;
  RangeSet durable;
};

/// What a part log says (docs/formats.md, "Part log"): a line that names the bytes, then lines that each list all
/// ranges that were durable by then; the last whole line counts. Empty for what is no such log.
std::optional<PartRecord> read_part_log(std::string_view text);

/// The log beside a partial file, by which a copy goes on after a kill or a power cut. Written after the bytes it
/// speaks of were synced, so that it never says more than is true. One thread at a time.
class PartLog {
 public:
  PartLog(io::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// What is known of these very bytes; nothing when the log is of others or there is none.
  RangeSet read(const PartialOf& of) const;
  void record(const PartialOf& of, const RangeSet& durable);
  void remove();

 private:
  io::FileSystem& files_;
  std::string path_;
  std::unique_ptr<io::WritableFile> file_;
};

/// Thrown by FileCopy::write() when the bytes that come are of no use any more.
struct OutdatedBytes {};

struct CopySteps {
  /// Bytes between two moments at which a file is made durable and may be resumed from.
  std::uint64_t save_bytes = 32ULL << 20U;
  /// Whether the page cache may keep what was written; it counts against a pod.
  bool keep_cached = false;

  /// Files from this size on are worth a sync and a log of their own.
  std::uint64_t large_bytes() const { return save_bytes / 8; }
};

/// One file on its way into the folder: which of its bytes are here, which are being fetched, and the hash of its
/// beginning, which goes ahead as bytes arrive in order and catches up where they did not. Thread-safe.
///
/// A range that is claimed has to be released, however its fetch ends. The one who releases the last range under way of
/// a file that is whole or out of date has it to himself until it is closed or started over.
class FileCopy {
 public:
  /// Goes on with what an earlier copy left in `out`, as its log tells.
  FileCopy(StageFile file, std::unique_ptr<io::PatchFile> out, PartLog log, const CopySteps& steps);

  const StageFile& file() const { return file_; }
  /// Bytes that an earlier copy left, as long as they are of use.
  std::uint64_t resumed_bytes() const { return resumed_; }
  /// True when it is to be fetched in one stream.
  bool whole_only() const { return whole_only_; }
  unsigned restarts() const { return restarts_; }

  /// The next bytes that nobody fetches, at most `longest`; once an empty range when all are here. Empty when there is
  /// nothing to do for another.
  std::optional<ByteRange> claim(std::uint64_t longest);

  /// Stores bytes of a claimed range. Throws OutdatedBytes when the copy is to start over.
  void write(std::uint64_t offset, Bytes bytes);

  /// Hashes what came out of order and is due, and saves when enough has come. Within a claim.
  void tend(const std::stop_token& stop);
  /// Ends a claim of which the bytes up to `reached` were stored. True when the caller is to settle the file: it is
  /// whole, or outdated, and nobody else is at it.
  bool release(ByteRange claim, std::uint64_t reached);

  /// Nothing of what is here will be used: it is of another version.
  void mark_outdated() { outdated_ = true; }
  bool outdated() const { return outdated_; }

  /// The source gives this file as a whole only. Comes with mark_outdated().
  void mark_rangeless() { rangeless_ = true; }
  bool rangeless() const { return rangeless_; }

  /// For who settles: starts again from nothing with the object as it is now.
  void start_over(const io::ObjectInfo& object);
  /// For who settles: starts again from nothing, in one stream. Does not count as a restart.
  void start_over_as_whole();
  /// For who fetches the whole: the stream begins again.
  void rewind();
  /// For who settles: the hash of all bytes.
  Hash128 finish_hash(const std::stop_token& stop);
  /// For who settles: makes the whole file durable.
  void sync() { out_->sync(); }
  /// For who settles, once all is durable: the log has served.
  void close();

  /// Makes what is here durable and says so in the log, unless another is at it.
  void save();

 private:
  void prepare();
  void forget();
  void catch_up(const std::stop_token& stop);
  void hash_stored(ByteRange range, const std::stop_token& stop);
  PartialOf identity() const { return {file_.object.name, file_.pin(), file_.object.size}; }

  StageFile file_;
  const CopySteps steps_;
  std::unique_ptr<io::PatchFile> out_;
  std::atomic<bool> outdated_ = false;
  std::atomic<bool> rangeless_ = false;
  std::atomic<bool> whole_only_ = false;
  std::atomic<unsigned> restarts_ = 0;
  std::uint64_t resumed_ = 0;

  std::mutex mutex_;
  RangeSet have_;
  RangeSet taken_;  ///< here, or claimed
  unsigned claims_ = 0;
  bool settling_ = false;
  Xxh3Stream hash_;
  std::uint64_t hashed_ = 0;  ///< the hash is of [0, hashed_)
  bool catching_up_ = false;
  std::uint64_t unsaved_ = 0;

  std::mutex save_mutex_;
  PartLog log_;
};

}  // namespace shardkit::staging
