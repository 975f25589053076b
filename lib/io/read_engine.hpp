#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "io/file.hpp"

/// Ways to read files whose speed is to be compared. An engine does what its name says or refuses; none falls back on
/// another.
///
/// - pread: one system call at a time for each lane, through the page cache or directly.
/// - mmap: copies out of a mapping, so that the kernel brings pages in as they are touched; always through the cache.
/// - uring: up to `depth` reads of a lane under way at once (io_uring(7)), into registered buffers.
///
/// What engines have in common whose calls return with the bytes.
namespace shardkit::io {

/// What is asked of the kernel to have some bytes of a file: for direct reads the whole blocks around them, so that
/// nothing is copied, the file's tail included.
struct ReadWindow {
  std::uint64_t begin = 0;  ///< offset in the file
  std::size_t length = 0;   ///< bytes to ask for; behind a file's end fewer come
  std::size_t skip = 0;     ///< of these, those before what is wanted
  std::size_t wanted = 0;
};

/// A file that an engine opened, and its size at that moment. Thread-safe.
class ReadFile {
 public:
  /// `step`: what offsets and lengths of reads have to be a multiple of.
  explicit ReadFile(File file, std::uint32_t step = 1);
  virtual ~ReadFile() = default;
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  const File& file() const { return file_; }
  std::uint64_t size() const { return size_; }

  /// For bytes within the file. Throws Error{io} when it had already ended before them as it was opened.
  ReadWindow window(std::uint64_t offset, std::size_t length) const;

  /// After `done` bytes of a window have come: false when all that is wanted is there. Throws Error{io} with path and
  /// offset when the file has ended before: `got`, the last read's bytes, was nothing, or left the grid of steps.
  bool wants_more(const ReadWindow& window, std::size_t done, std::size_t got) const;

  /// Throws the Error for a read that failed at `offset`.
  [[noreturn]] void report_failure(int error_number, std::uint64_t offset) const;
  /// Throws the Error for a file that ends at `offset`, earlier than when it was opened.
  [[noreturn]] void report_shrunk(std::uint64_t offset) const;

 private:
  File file_;
  std::uint64_t size_;
  std::uint32_t step_;
};

/// Memory that the window of a read of `most` bytes needs at most.
std::size_t window_bytes(std::size_t most);

struct ReadRequest {
  const ReadFile* file = nullptr;  ///< of the engine that made the lane; outlives the read
  std::uint64_t offset = 0;
  std::size_t length = 0;  ///< more than 0, at most what the lane was made for, within the file
  std::uint64_t tag = 0;   ///< comes back with the bytes
};

struct ReadCompletion {
  Bytes bytes;  ///< all that was asked for; valid until the lane's next submit()
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;                        ///< in the file
  std::chrono::steady_clock::time_point started;   ///< submit()
  std::chrono::steady_clock::time_point finished;  ///< when wait() saw them
  std::uint64_t kernel_reads = 0;  ///< how many reads the kernel made of it: more than one where it gave fewer bytes
};

/// One thread's way to an engine. Allocates nothing after it was made. Not thread-safe; used by the thread that made
/// it. Its end waits for what is under way.
class ReadLane {
 public:
  virtual ~ReadLane() = default;

  /// Takes a request; at most `depth` may be under way. Throws Error{io} when the file has become shorter than that.
  virtual void submit(const ReadRequest& request) = 0;
  /// Waits for any one of those under way; there has to be one. Throws Error{io} with path and offset, also when the
  /// file has become shorter since it was opened.
  virtual ReadCompletion wait() = 0;
  virtual unsigned under_way() const = 0;
};

/// Thread-safe.
class ReadEngine {
 public:
  virtual ~ReadEngine() = default;
  /// Reads that each lane may have under way.
  virtual unsigned depth() const = 0;
  /// Throws Error{unsupported} when this file cannot be read the way that was asked for.
  virtual std::shared_ptr<const ReadFile> open(const std::string& path) const = 0;
  /// For requests of at most `most` bytes.
  virtual std::unique_ptr<ReadLane> make_lane(std::size_t most) const = 0;
  /// What the lanes made so far could not have, though they read all the same; empty when they had everything.
  virtual std::optional<std::string> remark() const { return std::nullopt; }
};

struct ReadEngineOptions {
  bool direct = false;  ///< O_DIRECT: past the page cache
  bool random = false;  ///< tells the kernel not to read ahead
  unsigned depth = 1;   ///< reads under way for each lane; only uring takes more than one
};

enum class EngineKind { pread, mmap, uring };
constexpr auto enum_names(EngineKind) { return std::to_array<std::string_view>({"pread", "mmap", "uring"}); }

/// True for engines that may have more than one read of a lane under way.
constexpr bool engine_takes_depth(EngineKind kind) { return kind == EngineKind::uring; }

/// An engine of that kind. Throws Error{unsupported} for one that the kernel or a filter refuses (naming the cause and
/// the remedy), or that cannot be had with these options.
std::unique_ptr<ReadEngine> make_read_engine(EngineKind kind, const ReadEngineOptions& options);

/// Opens files as options ask: through the page cache with advice about reading ahead, or past it (O_DIRECT), and finds
/// out how they want to be read then. Thread-safe.
class FileOpener {
 public:
  explicit FileOpener(const ReadEngineOptions& options) : options_(options) {}
  /// Throws Error{unsupported} for a file of which direct reads cannot be had: its file system refuses, only pretends,
  /// or stores it compressed.
  std::shared_ptr<const ReadFile> open(const std::string& path) const;

 private:
  std::shared_ptr<const ReadFile> open_direct(const std::string& path) const;
  /// What offsets and lengths must be a multiple of.
  std::uint32_t step_of(const File& file) const;
  std::uint32_t probed_step(const File& file) const;

  ReadEngineOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<dev_t, std::uint32_t> by_device_;
};

/// A lane with one read at a time, made by a function.
class SyncLane final : public ReadLane {
 public:
  /// Fills `target`, which has room for the window, until what is wanted is there; returns how many reads that took.
  using Read = std::uint64_t (*)(const ReadFile& file, const ReadWindow& window, MutableBytes target);

  SyncLane(Read read, std::size_t most) : read_(read) { buffer_.get(window_bytes(most)); }

  void submit(const ReadRequest& request) override;
  ReadCompletion wait() override;
  unsigned under_way() const override { return request_.file != nullptr ? 1 : 0; }

 private:
  Read read_;
  AlignedBuffer buffer_;
  ReadRequest request_;
  ReadWindow window_;
  std::chrono::steady_clock::time_point started_;
};

/// Reads by copying out of a mapping of the whole file, as memory-mapped data sets do: each page comes by a fault, with
/// the kernel's read-ahead. Throws Error{unsupported} for direct reads.
std::unique_ptr<ReadEngine> make_mmap_engine(const ReadEngineOptions& options);

/// Reads by io_uring(7), through the page cache or directly. Each lane has a ring and `depth` buffers, registered where
/// the limit of locked memory allows it (see ReadEngine::remark()). A request goes to the kernel at the next wait(),
/// with those submitted since the last one. Throws Error{unsupported} where the kernel or a filter refuses, before
/// anything is read.
std::unique_ptr<ReadEngine> make_uring_engine(const ReadEngineOptions& options);

}  // namespace shardkit::io
