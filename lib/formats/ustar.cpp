#include "formats/ustar.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

// Field positions of a POSIX ustar header.
constexpr std::size_t kMode = 100;
constexpr std::size_t kUid = 108;
constexpr std::size_t kGid = 116;
constexpr std::size_t kSize = 124;
constexpr std::size_t kMtime = 136;
constexpr std::size_t kChecksum = 148;
constexpr std::size_t kType = 156;
constexpr std::size_t kMagic = 257;

void put(MutableBytes block, std::size_t at, std::string_view text) {
  std::copy_n(as_bytes(text).begin(), text.size(), block.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

void write_ustar_header(MutableBytes block, std::string_view name, std::uint64_t size) {
  if (name.empty() || name.size() > kTarNameLimit || size >= kTarSizeLimit) {
    throw Error(ErrorCode::unsupported, fmt::format("'{}' with {} bytes does not fit a USTAR header", name, size));
  }
  std::fill(block.begin(), block.end(), std::byte{0});
  put(block, 0, name);
  put(block, kMode, "0000444");
  put(block, kUid, "0000000");
  put(block, kGid, "0000000");
  put(block, kSize, fmt::format("{:011o}", size));
  put(block, kMtime, "00000000000");
  put(block, kChecksum, "        ");  // counts as spaces in its own sum
  put(block, kType, "0");
  put(block, kMagic,
      std::string_view("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const std::byte value : block) sum += std::to_integer<unsigned>(value);
  put(block, kChecksum, std::string_view(fmt::format("{:06o}", sum) + '\0'));
}

}  // namespace shardkit
