#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/context.hpp"
#include "io/publish.hpp"

namespace shardkit {

/// True for names of compressed tars: "x.tar.gz", "x.tgz", "x.tar.zst", ...
bool is_compressed_tar_name(const std::string& path);

/// The tar behind a compressed one, on disk for as long as the object lives: its members are read by offset. Whatever
/// libarchive can unpack is taken: gzip, zstd, bzip2, xz, lz4.
class UnpackedTar {
 public:
  /// Unpacks `path` into a hidden temporary in `folder`. A member's room is asked for before its first byte is written,
  /// so that a small file which claims to be huge fills no disk; what follows the end of the archive is not unpacked.
  /// Throws Error{corrupt} with the offset in the unpacked bytes for what is no tar or is damaged, Error{no_space} when
  /// the disk would be left with less than 256 MiB or a twentieth, Error{cancelled}.
  UnpackedTar(const std::string& path, const std::string& folder, FileSystem& files, Context& ctx);

  /// Where the tar lies.
  const std::string& path() const { return file_.temp_path(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  AtomicFile file_;  // never committed
  std::uint64_t bytes_ = 0;
};

}  // namespace shardkit
