#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"

/// Writing plain USTAR (POSIX.1-1988): the portable profile that every reader understands.
///
/// One 512-byte tar header block, as POSIX.1-1988 (ustar), GNU tar and v7 tar lay it out.
namespace shardkit::formats {

inline constexpr std::uint64_t kTarBlock = 512;
/// Two zero blocks end an archive.
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;
/// Longest member name without the prefix field, which some readers drop.
inline constexpr std::size_t kTarNameLimit = 100;
/// Sizes from here on need base-256, which some readers cannot read: 8 GiB.
inline constexpr std::uint64_t kTarSizeLimit = std::uint64_t{1} << 33U;

/// Bytes of a member's content with its padding to whole blocks.
constexpr std::uint64_t tar_padded(std::uint64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

/// Bytes a member takes in all: header, content, padding.
constexpr std::uint64_t tar_member_bytes(std::uint64_t size) { return kTarBlock + tar_padded(size); }

/// Fills `block` (512 bytes) with the header of a regular file: mode 0444, uid, gid and mtime 0, no owner names, so
/// that equal content gives equal bytes on every machine. `name` has 1 to 100 bytes, `size` is below kTarSizeLimit.
void write_ustar_header(MutableBytes block, std::string_view name, std::uint64_t size);

/// A header's fields before extended headers change them. The texts are views of the block.
struct TarHeader {
  char type = '0';  ///< the type flag as stored
  std::string_view name;
  std::string_view prefix;  ///< what goes before the name and a slash; ustar only
  std::string_view link_target;
  std::uint64_t size = 0;
  bool base256_size = false;      ///< the size is stored in binary
  bool sparse_continues = false;  ///< old GNU sparse file whose map goes on in the next block
};

enum class TarHeaderState { good, zero, bad_checksum, bad_size };

/// Decodes a block of exactly kTarBlock. `header` is complete only when the state is good.
TarHeaderState read_tar_header(Bytes block, TarHeader& header);

enum class TarType { regular, directory, hard_link, symbolic_link, other };

/// What kind of member a type flag stands for; v7 marks folders by a slash at the end of the name alone.
TarType tar_type(char type_flag, std::string_view name);

/// Links, devices, folders and FIFOs store no content, whatever their size field says. Types unknown to POSIX do.
bool stores_tar_content(char type_flag);

/// True for headers that say something about the member after them: PAX headers and GNU long names.
bool is_tar_extension(char type_flag);

/// True when the block of an old GNU sparse map says that one more follows.
bool sparse_map_continues(Bytes block);

/// True when the block claims to be ustar, pax or GNU by its magic, whatever its checksum says.
bool has_tar_magic(Bytes block);

/// "gzip", "zstd", ...: what compressed data starts like this; empty when it is none that we know.
std::string_view compression_name(Bytes start);

/// Reads a numeric field: octal digits between optional spaces and a NUL, or GNU's base-256. Empty for negative
/// numbers, those above 2^63 - 1 and anything that is not a number. A blank field is 0.
std::optional<std::uint64_t> parse_tar_number(std::string_view field);

/// Walks the records of a PAX extended header, each "<length> <keyword>=<value>\n" where the decimal length counts the
/// whole record (POSIX.1-2017, pax, "pax Header Block").
class PaxRecords {
 public:
  /// `text` stays the caller's and must outlive the reader.
  explicit PaxRecords(std::string_view text) : rest_(text) {}

  /// Moves to the next record; false at the end or where the text is damaged.
  bool next();
  /// True when next() stopped before the end because what follows is no record.
  bool damaged() const { return damaged_; }

  std::string_view keyword() const { return keyword_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view rest_;
  std::string_view keyword_;
  std::string_view value_;
  bool damaged_ = false;
};

}  // namespace shardkit::formats
