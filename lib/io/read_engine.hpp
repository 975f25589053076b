#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "io/read_file.hpp"

/// Ways to read files whose speed is to be compared. An engine does what its name says or refuses; none falls back on
/// another.
///
/// - pread: one system call at a time for each lane, through the page cache or directly.
/// - mmap: copies out of a mapping, so that the kernel brings pages in as they are touched; always through the cache.
/// - uring: up to `depth` reads of a lane under way at once (io_uring(7)), into registered buffers.
namespace shardkit {

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
  virtual std::string_view name() const = 0;
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

inline constexpr std::array<std::string_view, 3> kReadEngines{"pread", "mmap", "uring"};

/// True for engines that may have more than one read of a lane under way.
bool engine_takes_depth(std::string_view name);

/// The engine called `name`. Throws Error{usage} for a name that no engine has, Error{unsupported} for an engine that
/// the kernel or a filter refuses (naming the cause and the remedy), or that cannot be had with these options.
std::unique_ptr<ReadEngine> make_read_engine(std::string_view name, const ReadEngineOptions& options);

}  // namespace shardkit
