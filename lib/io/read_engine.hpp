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

/// Methods of reading files, to compare their speed. An engine works as its name says or fails; it never falls back to
/// another.
///
/// - pread: one system call at a time per lane, through the page cache or directly.
/// - mmap: copies from a mapping, so that the kernel loads pages on access; always through the cache.
/// - uring: up to `depth` reads of a lane in flight (io_uring(7)), into registered buffers.
namespace shardkit::io {

/// The request to the kernel for some bytes of a file: for direct reads the whole blocks around them, so that nothing
/// is copied, including the end of the file.
struct ReadWindow {
  std::uint64_t begin = 0;  ///< offset in the file
  std::size_t length = 0;   ///< bytes to request; fewer arrive at the end of a file
  std::size_t skip = 0;     ///< number of these before the needed bytes
  std::size_t wanted = 0;
};

/// A file that an engine opened, and its size at that moment. Thread-safe.
class ReadFile {
 public:
  /// `step`: offsets and lengths of reads must be a multiple of this.
  explicit ReadFile(File file, std::uint32_t step = 1);
  virtual ~ReadFile() = default;
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  const File& file() const { return file_; }
  std::uint64_t size() const { return size_; }

  /// For bytes within the file. Throws Error{io} if the file already ended before them when it was opened.
  ReadWindow window(std::uint64_t offset, std::size_t length) const;

  /// After `done` bytes of a window were read: false if all needed bytes are there. Throws Error{io} with path and
  /// offset if the file has ended before: `got`, the bytes of the last read, was 0, or not a multiple of the step.
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

/// Maximum memory for the window of a read of `most` bytes from a file of this step. Direct reads have at most the
/// default one, whatever the size of the kernel's pages.
std::size_t window_bytes(std::size_t most, std::size_t step = AlignedBuffer::kAlignment);

struct ReadRequest {
  const ReadFile* file = nullptr;  ///< of the engine that made the lane; outlives the read
  std::uint64_t offset = 0;
  std::size_t length = 0;  ///< more than 0, at most what the lane was made for, within the file
  std::uint64_t tag = 0;   ///< returned with the bytes
};

struct ReadCompletion {
  Bytes bytes;  ///< all requested bytes; valid until the lane's next submit()
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;                        ///< in the file
  std::chrono::steady_clock::time_point started;   ///< submit()
  std::chrono::steady_clock::time_point finished;  ///< when wait() received them
  std::uint64_t kernel_reads = 0;  ///< how many reads the kernel made: more than one if it returned fewer bytes
};

/// One thread's access to an engine. Allocates nothing after creation. Not thread-safe; used by the thread that created
/// it. Its destructor waits for reads in flight.
class ReadLane {
 public:
  virtual ~ReadLane() = default;

  /// Starts a request; at most `depth` may be in flight. Throws Error{io} if the file has become too short.
  virtual void submit(const ReadRequest& request) = 0;
  /// Waits for any request in flight; there must be one. Throws Error{io} with path and offset, also if the file has
  /// become shorter since it was opened.
  virtual ReadCompletion wait() = 0;
  virtual unsigned under_way() const = 0;
};

/// Thread-safe.
class ReadEngine {
 public:
  virtual ~ReadEngine() = default;
  /// Reads that each lane may have in flight.
  virtual unsigned depth() const = 0;
  /// Throws Error{unsupported} if this file cannot be read in the requested way.
  virtual std::shared_ptr<const ReadFile> open(const std::string& path) const = 0;
  /// For requests of at most `most` bytes.
  virtual std::unique_ptr<ReadLane> make_lane(std::size_t most) const = 0;
  /// What lanes created so far lack, although they still read; empty if nothing.
  virtual std::optional<std::string> remark() const { return std::nullopt; }
};

struct ReadEngineOptions {
  bool direct = false;  ///< O_DIRECT: bypass the page cache
  bool random = false;  ///< tells the kernel not to read ahead
  unsigned depth = 1;   ///< reads in flight per lane; only uring allows more than one
};

enum class EngineKind { pread, mmap, uring };
constexpr auto enum_names(EngineKind) { return std::to_array<std::string_view>({"pread", "mmap", "uring"}); }

/// True for engines that allow more than one read in flight per lane.
constexpr bool engine_takes_depth(EngineKind kind) { return kind == EngineKind::uring; }

/// An engine of that kind. Throws Error{unsupported} if the kernel or a filter does not permit it (with cause and
/// remedy), or if it is not available with these options.
std::unique_ptr<ReadEngine> make_read_engine(EngineKind kind, const ReadEngineOptions& options);

/// Opens files as requested: through the page cache with advice about read-ahead, or bypassing it (O_DIRECT), and finds
/// out how they must be read. Thread-safe.
class FileOpener {
 public:
  explicit FileOpener(const ReadEngineOptions& options) : options_(options) {}
  /// Throws Error{unsupported} for a file that does not support direct reads: its file system refuses or ignores them,
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

/// Reads with io_uring(7), through the page cache or directly. Each lane has a ring and `depth` buffers, registered if
/// the limit of locked memory allows it (see ReadEngine::remark()). A request is passed to the kernel at the next
/// wait(), with those submitted since the last one. Throws Error{unsupported} if the kernel or a filter does not permit
/// it, before anything is read.
std::unique_ptr<ReadEngine> make_uring_engine(const ReadEngineOptions& options);

}  // namespace shardkit::io
