#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/context.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {

/// A compressed tar (unpacked_stream.hpp), unpacked on disk as long as the object exists, so that its members can be
/// read by offset.
class UnpackedTar {
 public:
  /// A tar may unpack to kUnpackedFree, and beyond that to kUnpackedRatio times its packed bytes: photographs hardly
  /// shrink, text tenfold. A larger one is treated as a decompression bomb.
  static constexpr std::uint64_t kUnpackedFree = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kUnpackedRatio = 100;

  /// Unpacks a compressed tar, local or remote, into a hidden temporary file in `folder`; `path` is for messages. Free
  /// space is checked before the first byte of each member, so that a small file with a huge claimed size does not fill
  /// the disk; data after the end of the archive is not unpacked. Throws Error{corrupt} with the offset in the unpacked
  /// bytes for invalid or damaged tars, Error{unsupported} for a bomb, Error{no_space} like require_space_to_unpack(),
  /// Error{cancelled}.
  ///
  /// With `salvage`, unpacks tars that were put together, and keeps everything before the place where the compressed
  /// data or the tar in it is damaged or cut, unless that is its start.
  UnpackedTar(std::unique_ptr<ByteSource> packed, const std::string& path, const std::string& folder,
              io::FileSystem& files, Context& context, bool salvage = false);

  /// Path of the unpacked tar.
  const std::string& path() const { return file_.temp_path(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  io::AtomicFile file_;  // never committed
  std::uint64_t bytes_ = 0;
};

/// Throws Error{no_space} if `bytes` more would leave the disk of `folder` with less than 256 MiB or a twentieth of it;
/// `what` describes them.
void require_space_to_unpack(const std::string& folder, std::uint64_t bytes, const std::string& what);

}  // namespace shardkit::catalog
