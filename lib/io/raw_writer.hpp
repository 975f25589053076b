#pragma once

#include <cstdint>
#include <string>

#include "core/bytes.hpp"
#include "io/file.hpp"

namespace shardkit {

/// A new file through which writing itself is measured: each call is the system call that it names, and what was asked
/// for is had or refused. Outputs that anybody keeps are made through FileSystem instead. One thread at a time.
class RawWriter {
 public:
  /// Makes the file, which must not be there. `direct`: O_DIRECT, past the page cache; Error{unsupported} where the
  /// file system does not offer it or, as tmpfs, only pretends.
  RawWriter(const std::string& path, bool direct);

  /// pwrite of all of `bytes`; with O_DIRECT, whole blocks of 4096 from memory that is as well aligned. Throws
  /// Error{io, no_space} with path and offset.
  void write_at(std::uint64_t offset, Bytes bytes);
  /// fsync: bytes and size are durable.
  void sync();

 private:
  File file_;
};

}  // namespace shardkit
