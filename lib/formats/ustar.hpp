#pragma once

#include <cstdint>
#include <string_view>

#include "core/bytes.hpp"

/// Writing plain USTAR (POSIX.1-1988): the portable profile that every reader understands.
namespace shardkit {

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

}  // namespace shardkit
