#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/bytes.hpp"
#include "io/publish.hpp"

namespace shardkit::io {

/// A large output, such as a shard, that gets its name with commit(); otherwise the destructor removes it. Its bytes
/// come in order, in buffers of any size. They bypass the page cache without a copy: a buffer is laid out so that pages
/// of the output are pages of memory, and only the page that two buffers share is copied. Several threads store
/// buffers at the same time.
class LargeFile {
 public:
  static constexpr std::size_t kPage = AlignedBuffer::kAlignment;

  /// `most_bytes`: its size, or a limit of it. The space is reserved, and the remainder is given back by commit().
  LargeFile(OutputFiles& files, std::string path, std::uint64_t most_bytes);

  /// Where bytes of this offset should begin in a buffer, which spares append() from moving them.
  static std::size_t begin_for(std::uint64_t offset) { return offset % kPage; }
  /// Memory for a buffer with so many bytes.
  static std::size_t memory_for(std::size_t bytes) { return bytes + 2 * kPage; }

  /// Whole pages of the output, in a buffer.
  struct Pages {
    std::uint64_t offset = 0;
    Bytes bytes;
  };
  /// The next `size` bytes of the output, which begin at `begin` of `memory`, an aligned buffer of memory_for(size).
  /// Returns the pages to store(), in the same memory. One thread at a time.
  Pages append(MutableBytes memory, std::size_t begin, std::size_t size);
  /// Throws Error{io, no_space}. Thread-safe.
  void store(const Pages& pages);
  /// When all pages are stored: stores the last bytes.
  void end();
  /// After end(): makes the file durable under its name.
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::array<std::byte, kPage> last_page_;  ///< of the bytes so far, if it is not whole
  std::uint64_t end_ = 0;
};

}  // namespace shardkit::io
