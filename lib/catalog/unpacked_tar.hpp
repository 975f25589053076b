#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/context.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::catalog {

/// The tar behind a compressed one, on disk for as long as the object lives: its members are read by offset. Taken are
/// gzip, zstd, bzip2, xz and lz4.
class UnpackedTar {
 public:
  /// A tar may unpack to kUnpackedFree, and beyond that to kUnpackedRatio times its packed bytes: photographs hardly
  /// shrink, text does tenfold. What claims more is taken for a bomb.
  static constexpr std::uint64_t kUnpackedFree = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kUnpackedRatio = 100;

  /// Unpacks `path` into a hidden temporary in `folder`. A member's room is asked for before its first byte is written,
  /// so that a small file which claims to be huge fills no disk; what follows the end of the archive is not unpacked.
  /// Memory is what the decompressor needs: at most 128 MiB for zstd, 1 GiB for xz, little for the others.
  /// Throws Error{corrupt} with the offset in the unpacked bytes for what is no tar or is damaged, Error{unsupported}
  /// for a bomb, Error{no_space} as require_room_to_unpack() does, Error{cancelled}.
  UnpackedTar(const std::string& path, const std::string& folder, io::FileSystem& files, Context& ctx)
      : UnpackedTar(std::make_unique<io::FileSource>(path), path, folder, files, ctx) {}
  /// The same of a compressed tar that lies anywhere; `path` is for messages.
  UnpackedTar(std::unique_ptr<ByteSource> packed, const std::string& path, const std::string& folder,
              io::FileSystem& files, Context& ctx);

  /// Where the tar lies.
  const std::string& path() const { return file_.temp_path(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  io::AtomicFile file_;  // never committed
  std::uint64_t bytes_ = 0;
};

/// Throws Error{no_space} when `bytes` more would leave the disk of `folder` with less than 256 MiB or a twentieth of
/// it; `what` is what they are of.
void require_room_to_unpack(const std::string& folder, std::uint64_t bytes, const std::string& what);

}  // namespace shardkit::catalog
