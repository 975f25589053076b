#pragma once

#include <cstddef>
#include <cstdint>

#include "io/file.hpp"

namespace shardkit {

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

}  // namespace shardkit
