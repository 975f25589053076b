#include "formats/tar_header.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::formats {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct FieldSpan {
  std::size_t offset;
  std::size_t length;
};
constexpr FieldSpan kName{0, 100};
constexpr FieldSpan kMode{100, 8};
constexpr FieldSpan kUid{108, 8};
constexpr FieldSpan kGid{116, 8};
constexpr FieldSpan kSize{124, 12};
constexpr FieldSpan kMtime{136, 12};
constexpr FieldSpan kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr FieldSpan kLinkTarget{157, 100};
constexpr FieldSpan kMagic{257, 8};
constexpr FieldSpan kDeviceMajor{329, 8};
constexpr FieldSpan kDeviceMinor{337, 8};
constexpr FieldSpan kPrefix{345, 155};
constexpr std::size_t kSparseContinues = 482;     // in an old GNU sparse header
constexpr std::size_t kSparseMapContinues = 504;  // in the blocks that continue its map

std::string_view field(std::string_view block, FieldSpan span) { return block.substr(span.offset, span.length); }

/// A text field ends at its first NUL, or fills all its bytes.
std::string_view text_field(std::string_view block, FieldSpan span) {
  const std::string_view text = field(block, span);
  return text.substr(0, text.find('\0'));
}

template <class Char>
std::int64_t sum_of(std::string_view text) {
  return std::accumulate(text.begin(), text.end(), std::int64_t{0},
                         [](std::int64_t sum, char c) { return sum + static_cast<Char>(c); });
}

/// The checksum is the sum of all bytes with its own field taken as spaces. Old tars summed signed bytes.
template <class Char>
std::int64_t header_sum(std::string_view block) {
  return sum_of<Char>(block) - sum_of<Char>(field(block, kChecksum)) + std::int64_t{' '} * kChecksum.length;
}

bool checksum_matches(std::string_view block) {
  const auto stored = parse_tar_number(field(block, kChecksum));
  if (!stored) return false;
  const auto sum = static_cast<std::int64_t>(*stored);
  return header_sum<unsigned char>(block) == sum || header_sum<signed char>(block) == sum;
}

std::optional<std::uint64_t> parse_base256(std::string_view field) {
  const auto first = static_cast<unsigned char>(field.front());
  if ((first & 0x40U) != 0) return std::nullopt;  // the sign of the number
  std::uint64_t value = first & 0x3fU;
  for (const char c : field.substr(1)) {
    if (value > (kLargest >> 8U)) return std::nullopt;
    value = (value << 8U) | static_cast<unsigned char>(c);
  }
  return value;
}

/// The fields that Python's tarfile reads as numbers, in every header and whatever its type is (TarInfo.frombuf). One
/// that it cannot read ends its listing after the first member without an error, and so webdataset's.
struct NumericField {
  std::string_view name;
  FieldSpan span;
};
constexpr std::array<NumericField, 8> kNumericFields{{{"mode", kMode},
                                                      {"uid", kUid},
                                                      {"gid", kGid},
                                                      {"size", kSize},
                                                      {"mtime", kMtime},
                                                      {"checksum", kChecksum},
                                                      {"devmajor", kDeviceMajor},
                                                      {"devminor", kDeviceMinor}}};

/// Whether tarfile.nti() takes a field: base-256 behind one of two bytes, or int(text, 8) up to the first NUL, which
/// allows a sign, "0o" and single underscores.
bool python_reads(std::string_view field) {
  using namespace std::string_view_literals;
  if (field.front() == '\x80' || field.front() == '\xff') return true;
  std::string_view text = field.substr(0, field.find('\0'));
  constexpr std::string_view kSpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f"sv;
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return true;
  text = text.substr(first, text.find_last_not_of(kSpace) - first + 1);
  if (text.front() == '+' || text.front() == '-') text.remove_prefix(1);
  const bool has_base = text.starts_with("0o") || text.starts_with("0O");
  if (has_base) text.remove_prefix(2);
  bool digit_before = has_base;
  for (const char c : text) {
    if (c == '_' ? !digit_before : c < '0' || c > '7') return false;
    digit_before = c != '_';
  }
  return !text.empty() && text.back() != '_';
}

std::string_view field_unreadable_by_python(std::string_view block) {
  const auto found = std::ranges::find_if(
      kNumericFields, [&](const NumericField& numeric) { return !python_reads(field(block, numeric.span)); });
  return found == kNumericFields.end() ? std::string_view() : found->name;
}

void put(MutableBytes block, std::size_t at, std::string_view text) {
  std::copy_n(as_bytes(text).begin(), text.size(), block.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

std::optional<std::uint64_t> parse_tar_number(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field.front()) & 0x80U) != 0) return parse_base256(field);
  const std::size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  for (const char c : field.substr(first)) {
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');  // 12 digits at most: cannot overflow
  }
  return value;
}

TarHeaderState read_tar_header(Bytes bytes, TarHeader& header) {
  const std::string_view block = as_text(bytes);
  // Only a zero block starts with a NUL: every header starts with a name.
  if (block.front() == '\0' && block.find_first_not_of('\0') == std::string_view::npos) return TarHeaderState::zero;
  if (!checksum_matches(block)) return TarHeaderState::bad_checksum;

  const std::string_view magic = field(block, kMagic);
  const bool is_ustar = magic.starts_with(std::string_view("ustar\0", 6));  // GNU and v7 have no prefix
  header.type = block[kType];
  header.name = text_field(block, kName);
  header.prefix = is_ustar ? text_field(block, kPrefix) : std::string_view();
  header.link_target = text_field(block, kLinkTarget);
  header.sparse_continues = header.type == 'S' && block[kSparseContinues] != '\0';
  header.unreadable = field_unreadable_by_python(block);
  header.times_in_prefix =
      !is_ustar && header.type != 'S' && !is_tar_extension(header.type) && block[kPrefix.offset] != '\0';
  const std::string_view size = field(block, kSize);
  header.base256_size = (static_cast<unsigned char>(size.front()) & 0x80U) != 0;
  const auto value = parse_tar_number(size);
  if (!value) return TarHeaderState::bad_size;
  header.size = *value;
  return TarHeaderState::good;
}

TarType tar_type(char type_flag, std::string_view name) {
  switch (type_flag) {
    case '\0':  // v7 marked directories only by a slash
      return name.ends_with('/') ? TarType::directory : TarType::regular;
    case '0':
    case '7':  // contiguous file
    case 'S':  // sparse file of old GNU tar
      return TarType::regular;
    case '1':
      return TarType::hard_link;
    case '2':
      return TarType::symbolic_link;
    case '5':
      return TarType::directory;
    default:
      return TarType::other;
  }
}

bool stores_tar_content(char type_flag) { return type_flag < '1' || type_flag > '6'; }

bool is_tar_extension(char type_flag) { return std::string_view("xXgLK").find(type_flag) != std::string_view::npos; }

bool sparse_map_continues(Bytes block) { return block[kSparseMapContinues] != std::byte{0}; }

bool has_tar_magic(Bytes block) {
  return block.size() == kTarBlock && field(as_text(block), kMagic).substr(0, 5) == "ustar";
}

std::optional<std::uint64_t> skippable_frame(Bytes start) {
  // A magic of 0x184D2A50 to 0x184D2A5F and a size, both little-endian (RFC 8878, 3.1.2).
  if (start.size() < kSkippableHead || as_text(start).substr(1, 3) != "\x2a\x4d\x18") return std::nullopt;
  if ((start.front() & std::byte{0xf0}) != std::byte{0x50}) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t i = kSkippableHead; i-- > 4;) size = size << 8U | std::to_integer<std::uint64_t>(start[i]);
  return size;
}

bool is_git_lfs_pointer(Bytes content) {
  return content.size() < 1024 && as_text(content).starts_with("version https://git-lfs.github.com/spec/");
}

std::string_view compression_name(Bytes start) {
  using namespace std::string_view_literals;
  if (const auto frame = skippable_frame(start)) {
    const std::uint64_t left = start.size() - kSkippableHead;
    const std::string_view behind =
        *frame < left ? compression_name(start.subspan(kSkippableHead + *frame)) : std::string_view();
    return behind.empty() ? "zstd or lz4" : behind;
  }
  struct Magic {
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array<Magic, 5> kMagics{{{"\x1f\x8b"sv, "gzip"},
                                                 {"\x28\xb5\x2f\xfd"sv, "zstd"},
                                                 {"\xfd"
                                                  "7zXZ\0"sv,
                                                  "xz"},
                                                 {"BZh"sv, "bzip2"},
                                                 {"\x04\x22\x4d\x18"sv, "lz4"}}};
  const auto found = std::find_if(kMagics.begin(), kMagics.end(),
                                  [&](const Magic& magic) { return as_text(start).starts_with(magic.bytes); });
  return found == kMagics.end() ? std::string_view() : found->name;
}

bool PaxRecords::next() {
  if (unread_.empty() || damaged_) return false;
  if (unread_.find_first_not_of('\0') == std::string_view::npos) return false;  // some writers pad with NULs
  damaged_ = true;                                                              // until the record has proved sound
  std::size_t length = 0;
  const std::size_t digits = unread_.find(' ');
  if (digits == std::string_view::npos || !parse_number(unread_.substr(0, digits), length)) return false;
  if (length > unread_.size() || length < digits + 2 || unread_[length - 1] != '\n') return false;
  const std::string_view record = unread_.substr(digits + 1, length - digits - 2);
  const std::size_t equals = record.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  keyword_ = record.substr(0, equals);
  value_ = record.substr(equals + 1);
  unread_.remove_prefix(length);
  damaged_ = false;
  return true;
}

void write_ustar_header(MutableBytes block, std::string_view name, std::uint64_t size) {
  if (name.empty() || name.size() > kTarNameLimit || size >= kTarSizeLimit) {
    throw Error(ErrorCode::unsupported, fmt::format("'{}' with {} bytes does not fit into a USTAR header", name, size));
  }
  std::fill(block.begin(), block.end(), std::byte{0});
  put(block, 0, name);
  put(block, kMode.offset, "0000444");
  put(block, kUid.offset, "0000000");
  put(block, kGid.offset, "0000000");
  put(block, kSize.offset, fmt::format("{:011o}", size));
  put(block, kMtime.offset, "00000000000");
  put(block, kChecksum.offset, "        ");  // counts as spaces in its own sum
  put(block, kType, "0");
  put(block, kMagic.offset,
      std::string_view("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const std::byte value : block) sum += std::to_integer<unsigned>(value);
  put(block, kChecksum.offset, std::string_view(fmt::format("{:06o}", sum) + '\0'));
}

}  // namespace shardkit::formats
