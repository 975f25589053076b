#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace shardkit {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// Views text as bytes and back; the caller keeps the memory.
inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Gets bytes in order, at most 1 MiB at a time. May throw; the caller passes that on.
using BodyWriter = std::function<void(Bytes)>;

/// Bytes that can be read at any offset: a file, an object, memory. Formats are read through this, so tests can use
/// memory. Implementations allow concurrent read_at calls unless they say otherwise.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Total size in bytes.
  virtual std::uint64_t size() const = 0;

  /// Reads up to buffer.size() bytes at `offset` and returns how many were read: fewer only at the end of the source, 0
  /// at or after it. Throws Error{io} with path and offset if the source fails.
  virtual std::size_t read_at(std::uint64_t offset, MutableBytes buffer) = 0;

  /// Passes `length` bytes from `offset` to `write`, in order and each once; returns how many: fewer only at the end of
  /// the source. Throws like read_at(), and the errors of `write`.
  virtual std::uint64_t stream(std::uint64_t offset, std::uint64_t length, const BodyWriter& write) {
    constexpr std::uint64_t kBlock = 256U * 1024U;  // fits into a core's own cache while it is hashed and parsed
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(kBlock, length)));
    for (std::uint64_t done = 0; done < length;) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), length - done));
      const std::size_t got = read_at(offset + done, MutableBytes(block).first(wanted));
      if (got == 0) return done;
      write(Bytes(block).first(got));
      done += got;
    }
    return length;
  }

  /// Like stream(), up to the end.
  std::uint64_t stream_all(const BodyWriter& write) { return stream(0, UINT64_MAX, write); }
};

/// Bytes that are appended in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  /// Appends all of `bytes` or throws Error{io, no_space}.
  virtual void write(Bytes bytes) = 0;
};

/// A ByteSource over memory that the caller keeps alive.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, MutableBytes buffer) override {
    if (offset >= bytes_.size()) return 0;
    const auto part = bytes_.subspan(offset, std::min<std::size_t>(buffer.size(), bytes_.size() - offset));
    std::copy(part.begin(), part.end(), buffer.begin());
    return part.size();
  }

 private:
  Bytes bytes_;
};

}  // namespace shardkit
