#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"
#include "formats/ustar.hpp"

/// One 512-byte tar header block, as POSIX.1-1988 (ustar), GNU tar and v7 tar lay it out.
namespace shardkit {

enum class TarDialect { v7, ustar, gnu };

/// A header's fields before extended headers change them. The texts are views of the block.
struct TarHeader {
  TarDialect dialect = TarDialect::v7;
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

}  // namespace shardkit
