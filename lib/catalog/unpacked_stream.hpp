#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/bytes.hpp"

namespace shardkit::catalog {

/// A compressed file from start to end, unpacked while its bytes arrive: gzip, also several members in a row, zstd,
/// bzip2, xz and lz4. Memory is that of the decompressor: at most 128 MiB for zstd, 1 GiB for xz, little for the
/// others. The checksum at the end of a gzip member is not compared.
class UnpackedStream {
 public:
  /// The next compressed bytes, valid until the next call; empty at the end. What it throws, next() throws.
  using ReadPacked = std::function<Bytes()>;

  /// `path` is for messages. Reads nothing yet.
  UnpackedStream(ReadPacked read_packed, std::string path);
  ~UnpackedStream();
  UnpackedStream(const UnpackedStream&) = delete;
  UnpackedStream& operator=(const UnpackedStream&) = delete;

  /// The next unpacked bytes, valid until the next call; empty at the end. Throws Error{corrupt} with the offset in the
  /// unpacked bytes if the file is damaged or cut off.
  Bytes next();

  /// Whether next() failed because of read_packed, not of the file.
  bool source_failed() const;
  /// Unpacked so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Reader;

  std::string path_;
  std::unique_ptr<Reader> reader_;
  std::uint64_t bytes_ = 0;
};

}  // namespace shardkit::catalog
