#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"

/// Writing plain USTAR (POSIX.1-1988): the portable profile that every reader understands.
///
/// One 512-byte tar header block, in the layout of POSIX.1-1988 (ustar), GNU tar and v7 tar.
namespace shardkit::formats {

inline constexpr std::uint64_t kTarBlock = 512;
/// Two zero blocks end an archive.
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;
/// Longest member name without the prefix field, which some readers ignore.
inline constexpr std::size_t kTarNameLimit = 100;
/// Larger sizes need base-256, which some readers cannot read: 8 GiB.
inline constexpr std::uint64_t kTarSizeLimit = std::uint64_t{1} << 33U;

/// Bytes of a member's content with its padding to whole blocks.
constexpr std::uint64_t tar_padded(std::uint64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

/// Total size of a member: header, content, padding.
constexpr std::uint64_t tar_member_bytes(std::uint64_t size) { return kTarBlock + tar_padded(size); }

/// Fills `block` (512 bytes) with the header of a regular file: mode 0444, uid, gid and mtime 0, no owner names, so
/// that equal content gives equal bytes on every machine. `name` has 1 to 100 bytes, `size` is below kTarSizeLimit.
void write_ustar_header(MutableBytes block, std::string_view name, std::uint64_t size);

/// A header's fields before extended headers change them. The texts are views of the block.
struct TarHeader {
  char type = '0';  ///< the type flag as stored
  std::string_view name;
  std::string_view prefix;  ///< prefix of the name, without a slash; ustar only
  std::string_view link_target;
  std::uint64_t size = 0;
  bool base256_size = false;      ///< the size is stored in binary
  bool sparse_continues = false;  ///< old GNU sparse file whose map continues in the next block
  std::string_view unreadable;    ///< name of a numeric field that Python cannot read; empty: none
  bool times_in_prefix = false;   ///< GNU times where Python reads the prefix of the name
};

enum class TarHeaderState { good, zero, bad_checksum, bad_size };

/// Decodes a block of exactly kTarBlock. `header` is complete only if the state is good.
TarHeaderState read_tar_header(Bytes block, TarHeader& header);

enum class TarType { regular, directory, hard_link, symbolic_link, other };

/// Kind of member for a type flag; v7 marks folders only by a slash at the end of the name.
TarType tar_type(char type_flag, std::string_view name);

/// Links, devices, folders and FIFOs store no content, whatever their size field is. Types unknown to POSIX do.
bool stores_tar_content(char type_flag);

/// True for headers about the member after them: PAX headers and GNU long names.
bool is_tar_extension(char type_flag);

/// True if the block of an old GNU sparse map is followed by another one.
bool sparse_map_continues(Bytes block);

/// True if the magic of the block is that of ustar, pax or GNU, whatever its checksum is.
bool has_tar_magic(Bytes block);

/// Bytes that skippable_frame() looks at.
inline constexpr std::size_t kSkippableHead = 8;
/// Bytes behind the head of a frame without data, which some writers of zstd and lz4 put first; empty if `start` is not
/// one.
std::optional<std::uint64_t> skippable_frame(Bytes start);

/// "gzip", "zstd", ...: kind of compressed data with this start; empty if it is not a known one. Passes over a
/// skippable frame.
std::string_view compression_name(Bytes start);

/// Text that Git LFS leaves in the place of a file that was not fetched (git-lfs docs/spec.md).
bool is_git_lfs_pointer(Bytes content);

/// Reads a numeric field: octal digits between optional spaces and a NUL, or GNU's base-256. Empty for negative
/// numbers, those above 2^63 - 1 and anything that is not a number. A blank field is 0.
std::optional<std::uint64_t> parse_tar_number(std::string_view field);

/// Iterates over the records of a PAX extended header, each "<length> <keyword>=<value>\n" where the decimal length
/// counts the whole record (POSIX.1-2017, pax, "pax Header Block").
class PaxRecords {
 public:
  /// The caller keeps `text`, which must outlive the reader.
  explicit PaxRecords(std::string_view text) : unread_(text) {}

  /// Moves to the next record; false at the end or at damage.
  bool next();
  /// True if next() stopped before the end because the rest is not a record.
  bool damaged() const { return damaged_; }

  /// After next() returned false: what was not read.
  std::string_view unread() const { return unread_; }

  std::string_view keyword() const { return keyword_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view unread_;
  std::string_view keyword_;
  std::string_view value_;
  bool damaged_ = false;
};

}  // namespace shardkit::formats
