#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "io/aligned_buffer.hpp"
#include "io/file.hpp"

/// Ways to read a file's bytes whose speed is to be compared. An engine does what its name says or refuses; none falls
/// back on another.
namespace shardkit {

/// A file opened by an engine. read() may be called from many threads, each with a buffer of its own.
class ReadFile {
 public:
  virtual ~ReadFile() = default;

  /// The open file and its size at that moment.
  virtual const File& file() const = 0;
  virtual std::uint64_t size() const = 0;

  /// `length` bytes at `offset`, fewer where the file ends. The view is of `buffer` and lasts until its next use.
  /// Throws Error{io} with path and offset, also when the file has become shorter since it was opened.
  virtual Bytes read(std::uint64_t offset, std::size_t length, AlignedBuffer& buffer) const = 0;
};

/// Thread-safe.
class ReadEngine {
 public:
  virtual ~ReadEngine() = default;
  virtual std::string_view name() const = 0;
  /// Throws Error{unsupported} when this file cannot be read the way that was asked for.
  virtual std::unique_ptr<ReadFile> open(const std::string& path) const = 0;
};

struct ReadEngineOptions {
  bool direct = false;  ///< O_DIRECT: past the page cache
  bool random = false;  ///< tells the kernel not to read ahead
};

/// The engine called `name`: "pread". Throws Error{unsupported} for any other.
std::unique_ptr<ReadEngine> make_read_engine(std::string_view name, const ReadEngineOptions& options);

}  // namespace shardkit
