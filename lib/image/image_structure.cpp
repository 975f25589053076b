#include "image/image_structure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "image/byte_order.hpp"

namespace shardkit::image {
namespace {

using Problem = std::optional<ImageProblem>;

Problem corrupt(std::string text) { return ImageProblem{ImageFlaw::corrupt_header, std::move(text)}; }

Problem cut_off(Bytes file) {
  return ImageProblem{ImageFlaw::truncated, fmt::format("the data ends early, after {} bytes", file.size())};
}

/// The problem of a file that needs bytes up to `end`.
Problem ends_before(Bytes file, std::uint64_t end) { return end > file.size() ? cut_off(file) : std::nullopt; }

// ---- BMP

struct BmpHeader {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint32_t bits = 0;
  std::uint32_t compression = 0;
  std::uint64_t colors = 0;
  std::uint64_t data = 0;  ///< offset of the pixels
};

constexpr std::uint32_t kBmpRle8 = 1;
constexpr std::uint32_t kBmpRle4 = 2;
constexpr std::uint32_t kBmpMasks = 3;

/// Whether the color masks of a BMP are in a common order.
bool has_known_masks(Bytes file, std::uint32_t bits, std::uint32_t header_size) {
  using Masks = std::array<std::uint32_t, 4>;
  constexpr std::array k32{Masks{0xFF0000, 0xFF00, 0xFF, 0},          Masks{0xFF000000, 0xFF0000, 0xFF00, 0},
                           Masks{0xFF000000, 0xFF00, 0xFF, 0},        Masks{0xFF000000, 0xFF0000, 0xFF00, 0xFF},
                           Masks{0xFF, 0xFF00, 0xFF0000, 0xFF000000}, Masks{0xFF0000, 0xFF00, 0xFF, 0xFF000000},
                           Masks{0xFF000000, 0xFF00, 0xFF, 0xFF0000}, Masks{}};
  Masks masks{little_u32(file, 54), little_u32(file, 58), little_u32(file, 62), 0};
  if (header_size >= 56) masks[3] = little_u32(file, 66);
  if (bits == 32) return std::ranges::find(k32, masks) != k32.end();
  masks[3] = 0;
  if (bits == 24) return masks == k32[0];
  return bits == 16 && (masks == Masks{0xF800, 0x7E0, 0x1F} || masks == Masks{0x7C00, 0x3E0, 0x1F});
}

Problem read_bmp_header(Bytes file, BmpHeader& header) {
  if (file.size() < 18) return cut_off(file);
  const std::uint32_t size = little_u32(file, 14);
  constexpr std::array<std::uint32_t, 7> kSizes{12, 40, 52, 56, 64, 108, 124};
  if (std::ranges::find(kSizes, size) == kSizes.end()) return corrupt(fmt::format("a header of {} bytes", size));
  if (auto problem = ends_before(file, 14 + size)) return problem;
  if (size == 12) {
    header = {little_u16(file, 18), little_u16(file, 20), little_u16(file, 24), 0, 0, 0};
  } else {
    const std::uint32_t height = little_u32(file, 22);
    const bool from_top = byte_at(file, 25) == 0xFF;
    header = {little_u32(file, 18), from_top ? 0U - height : height,
              little_u16(file, 28), little_u32(file, 30),
              little_u32(file, 46), 0};
  }
  constexpr std::array<std::uint32_t, 6> kBits{1, 4, 8, 16, 24, 32};
  if (std::ranges::find(kBits, header.bits) == kBits.end()) return corrupt(fmt::format("{} bits a pixel", header.bits));
  if (header.compression > kBmpMasks) return corrupt(fmt::format("compression {}", header.compression));
  std::uint64_t end = 14 + size;
  if (header.compression == kBmpMasks) {
    if (size < 52) end += 12;
    if (auto problem = ends_before(file, size < 52 ? 66 : end)) return problem;
    if (!has_known_masks(file, header.bits, size)) return corrupt("unknown color masks");
  }
  if (header.colors == 0) header.colors = std::uint64_t{1} << header.bits;
  if (header.bits <= 8 && header.colors > 65536) return corrupt(fmt::format("{} colors", header.colors));
  const std::uint64_t palette = header.bits <= 8 ? header.colors * (size == 12 ? 3 : 4) : 0;
  header.data = little_u32(file, 10);
  if (header.data == 0 || (header.data == 14 + size && palette > 0)) header.data = end + palette;
  return sides_problem(header.width, header.height);
}

/// Follows the runs of a compressed BMP until they fill the image.
Problem bmp_runs_problem(Bytes file, const BmpHeader& header) {
  const bool rle4 = header.compression == kBmpRle4;
  const std::uint64_t all = header.width * header.height;
  std::uint64_t filled = 0;
  std::uint64_t x = 0;
  std::uint64_t at = header.data;
  while (filled < all && at + 2 <= file.size()) {
    const std::uint64_t count = byte_at(file, at);
    const std::uint64_t value = byte_at(file, at + 1);
    at += 2;
    if (count > 0) {
      const std::uint64_t fits = std::min(count, header.width - std::min(x, header.width));
      filled += fits;
      x += fits;
    } else if (value == 0) {
      filled = (filled + header.width - 1) / header.width * header.width;
      x = 0;
    } else if (value == 1) {
      break;
    } else if (value == 2) {
      if (at + 2 > file.size()) break;
      filled = std::min(all, filled + byte_at(file, at) + byte_at(file, at + 1) * header.width);
      x = filled % header.width;
      at += 2;
    } else {
      const std::uint64_t pixels = std::min(all - filled, value);
      const std::uint64_t bytes = rle4 ? (pixels + 1) / 2 : pixels;
      if (at + bytes > file.size()) break;
      filled += pixels;
      x += value;
      at += bytes + (at + bytes) % 2;
    }
  }
  return filled < all ? ImageProblem{ImageFlaw::truncated, "its runs of pixels end early"} : Problem{};
}

// ---- Netpbm

constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The next token of a Netpbm header and the one white space after it; empty at the end and when it is too long.
std::string pnm_token(std::string_view& text) {
  std::string token;
  while (!text.empty() && token.size() <= 10) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '#') {
      text.remove_prefix(std::min(text.size(), text.find_first_of("\r\n")));
      if (!text.empty()) text.remove_prefix(1);
    } else if (!is_space(c)) {
      token += c;
    } else if (!token.empty()) {
      break;
    }
  }
  return token.size() > 10 ? std::string() : token;
}

std::optional<std::uint64_t> whole_number(std::string_view token) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  return value;
}

/// The text of a plain PNM without its comments, which do not end a value.
std::string without_comments(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t comment = std::min(text.find('#'), text.size());
    kept += text.substr(0, comment);
    text.remove_prefix(comment);
    text.remove_prefix(std::min(text.find_first_of("\r\n"), text.size()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return kept;
}

/// The values of a PNM that is text: `count` of them, none above `most`.
Problem plain_pnm_problem(Bytes file, std::string_view commented, std::uint64_t count, std::uint64_t most, bool bits) {
  const std::string text = without_comments(commented);
  std::string token;
  if (bits) {
    for (const char c : text) {
      if (!is_space(c) && c != '0' && c != '1') return corrupt(fmt::format("the value '{}'", c));
      count -= !is_space(c) && count > 0 ? 1 : 0;
    }
    return count > 0 ? cut_off(file) : std::nullopt;
  }
  if (text.size() - (text.find_last_of(" \t\n\v\f\r") + 1) > 10) return corrupt("the value at its end");
  for (const char c : text + ' ') {
    if (count == 0) return std::nullopt;
    if (!is_space(c)) token += c;
    if (!is_space(c) || token.empty()) continue;
    const auto value = whole_number(token);
    if (!value || *value > most || token.size() > 10) return corrupt(fmt::format("the value '{}'", token));
    token.clear();
    --count;
  }
  return count > 0 ? cut_off(file) : std::nullopt;
}

// ---- GIF

/// The codes of a GIF's frame, followed as Pillow's GifDecode.c does: only the lengths of their strings are kept.
class GifCodes {
 public:
  GifCodes(Bytes file, std::size_t at, unsigned bits) : file_(file), at_(at), bits_(bits), clear_(1U << bits) {}

  Problem follow(std::uint64_t pixels) {
    if (bits_ > 12) return corrupt(fmt::format("codes of {} bits", bits_ + 1));
    std::uint64_t filled = 0;
    reset();
    while (filled < pixels) {
      const std::optional<unsigned> code = next_code();
      if (!code) return cut_off(file_);
      if (*code == clear_) {
        if (!fresh_) reset();
      } else if (*code != clear_ + 1) {
        const unsigned length = length_of(*code);
        if (length == 0) return corrupt("a code of its pixels does not exist");
        filled += length;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kTable = 4096;

  void reset() {
    next_ = clear_ + 2;
    size_ = bits_ + 1;
    fresh_ = true;
  }

  std::optional<unsigned> next_code() {
    while (held_ < size_) {
      if (block_ > 0) {
        buffer_ |= byte_at(file_, at_++) << held_;
        held_ += 8;
        --block_;
        continue;
      }
      if (at_ >= file_.size() || file_.size() - at_ < byte_at(file_, at_) + std::size_t{1}) return std::nullopt;
      block_ = byte_at(file_, at_++);
    }
    const unsigned code = buffer_ & ((1U << size_) - 1);
    buffer_ >>= size_;
    held_ -= size_;
    return code;
  }

  /// The pixels of a code, after which there is a new one; 0 if it does not exist.
  unsigned length_of(unsigned code) {
    if (std::exchange(fresh_, false)) {
      last_ = code;
      return code > clear_ ? 0 : 1;
    }
    if (code > next_) return 0;
    const unsigned length = code == next_ ? string(last_) + 1 : string(code);
    if (length > kTable || (code >= clear_ && code >= kTable)) return 0;
    if (next_ < kTable) {
      lengths_.at(next_) = static_cast<std::uint16_t>(string(last_) + 1);
      if (next_ == (1U << size_) - 1 && size_ < 12) ++size_;
      ++next_;
    }
    last_ = code;
    return length;
  }
  unsigned string(unsigned code) const { return code < clear_ ? 1 : lengths_.at(std::min(code, kTable - 1)); }

  Bytes file_;
  std::size_t at_;
  unsigned bits_;
  unsigned clear_;
  unsigned next_ = 0;
  unsigned size_ = 0;
  unsigned last_ = 0;
  unsigned block_ = 0;
  std::uint32_t buffer_ = 0;
  unsigned held_ = 0;
  bool fresh_ = true;
  std::array<std::uint16_t, kTable> lengths_{};
};

/// The offset behind the blocks of an extension.
std::size_t behind_blocks(Bytes file, std::size_t at) {
  while (at < file.size() && byte_at(file, at) != 0) at += 1 + byte_at(file, at);
  return at + 1;
}

// ---- TIFF

/// The values of the tags that place the pixels of a TIFF.
class TiffTags {
 public:
  explicit TiffTags(Bytes file) : file_(file), little_(byte_at(file, 0) == 'I'), big_(number(2, 2) == 43) {}

  /// Reads the first directory, up to a value that is not there, as Pillow does.
  bool read() {
    const std::uint64_t at = big_ ? number(8, 8) : number(4, 4);
    if (!has(at, big_ ? 8 : 2)) return false;
    const std::uint64_t entries = number(at, big_ ? 8 : 2);
    const std::uint64_t step = big_ ? 20 : 12;
    for (std::uint64_t i = 0, entry = at + (big_ ? 8 : 2); i < entries; ++i, entry += step) {
      if (!has(entry, step) || !read_entry(entry)) return true;
    }
    return true;
  }

  std::uint64_t first(unsigned tag, std::uint64_t otherwise) const {
    const auto found = values_.find(tag);
    return found == values_.end() || found->second.empty() ? otherwise : found->second.front();
  }
  const std::vector<std::uint64_t>& all(unsigned tag) { return values_[tag]; }

 private:
  bool has(std::uint64_t at, std::uint64_t bytes) const { return at <= file_.size() && file_.size() - at >= bytes; }

  std::uint64_t number(std::uint64_t at, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes && has(at, bytes); ++i) {
      value |= std::uint64_t{byte_at(file_, at + i)} << 8U * (little_ ? i : bytes - 1 - i);
    }
    return value;
  }

  /// False if the values are behind the end.
  bool read_entry(std::uint64_t entry) {
    constexpr std::array<unsigned, 19> kBytes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    const auto tag = static_cast<unsigned>(number(entry, 2));
    const std::uint64_t type = number(entry + 2, 2);
    const std::uint64_t count = number(entry + 4, big_ ? 8 : 4);
    const unsigned bytes = type < kBytes.size() ? kBytes.at(type) : 0;
    if (bytes == 0 || values_.contains(tag)) return true;
    const std::uint64_t inside = entry + (big_ ? 12 : 8);
    if (count > file_.size() / bytes && count > 8) return true;  // skipped with a warning
    const bool fits = count * bytes <= (big_ ? 8U : 4U);
    const std::uint64_t at = fits ? inside : number(inside, big_ ? 8 : 4);
    if (!has(at, count * bytes)) return false;
    std::vector<std::uint64_t>& values = values_[tag];
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(number(at + i * bytes, bytes));
    return true;
  }

  Bytes file_;
  bool little_;
  bool big_;
  std::map<unsigned, std::vector<std::uint64_t>> values_;
};

constexpr unsigned kWidth = 256;
constexpr unsigned kHeight = 257;
constexpr unsigned kBits = 258;
constexpr unsigned kCompression = 259;
constexpr unsigned kStripOffsets = 273;
constexpr unsigned kSamples = 277;
constexpr unsigned kRowsPerStrip = 278;
constexpr unsigned kStripBytes = 279;
constexpr unsigned kPlanar = 284;
constexpr unsigned kTileWidth = 322;
constexpr unsigned kTileHeight = 323;
constexpr unsigned kTileOffsets = 324;
constexpr unsigned kTileBytes = 325;

/// The rows of strips and tiles without compression, whose sizes follow from their sides.
Problem raw_tiff_problem(Bytes file, TiffTags& tags, bool tiled) {
  const std::uint64_t width = tags.first(kWidth, 0);
  const std::uint64_t height = tags.first(kHeight, 0);
  const bool planar = tags.first(kPlanar, 1) == 2;
  const std::uint64_t tile_width = tiled ? tags.first(kTileWidth, 0) : width;
  const std::uint64_t tile_height = tags.first(tiled ? kTileHeight : kRowsPerStrip, tiled ? 0 : height);
  if (tile_width == 0 || tile_height == 0) return corrupt("its pixels have no place");
  std::vector<std::uint64_t> bits = tags.all(kBits);
  if (bits.empty()) bits = {1};
  if (bits.size() == 1) bits.resize(tags.first(kSamples, 1), bits.front());
  std::uint64_t pixel_bits = 0;
  for (const std::uint64_t sample : bits) pixel_bits += planar ? 0 : sample;
  if (planar) pixel_bits = bits.front();
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  for (const std::uint64_t offset : tags.all(tiled ? kTileOffsets : kStripOffsets)) {
    const std::uint64_t rows = std::min(tile_height, height - y);
    const std::uint64_t columns = std::min(tile_width, width - x);
    const std::uint64_t stride = (tile_width * pixel_bits + 7) / 8;
    if (offset > file.size()) return cut_off(file);
    if (auto problem = ends_before(file, offset + stride * (rows - 1) + (columns * pixel_bits + 7) / 8)) return problem;
    x += tile_width;
    if (x >= width) x = 0, y += tile_height;
    if (y >= height) y = 0;
  }
  return std::nullopt;
}

}  // namespace

Problem sides_problem(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) {
    return ImageProblem{ImageFlaw::zero_pixels, fmt::format("the header says {} x {} pixels", width, height)};
  }
  if (height <= kMostCheckedPixels / width) return std::nullopt;
  return ImageProblem{ImageFlaw::too_large, fmt::format("{} x {} pixels", width, height)};
}

Problem bmp_problem(Bytes file) {
  BmpHeader header;
  if (auto problem = read_bmp_header(file, header)) return problem;
  if (header.compression == kBmpRle8 || header.compression == kBmpRle4) return bmp_runs_problem(file, header);
  const std::uint64_t stride = (header.width * header.bits + 31) / 32 * 4;
  return ends_before(file, header.data + stride * (header.height - 1) + (header.width * header.bits + 7) / 8);
}

Problem pnm_problem(Bytes file) {
  const char kind = static_cast<char>(byte_at(file, 1));
  std::string_view text = as_text(file).substr(3);
  const auto width = whole_number(pnm_token(text));
  const auto height = whole_number(pnm_token(text));
  if (!width || !height) return text.empty() ? cut_off(file) : corrupt("its header has no width and height");
  if (auto problem = sides_problem(*width, *height)) return problem;
  const std::uint64_t channels = kind == '3' || kind == '6' ? 3 : 1;
  if (kind == 'f') {
    const std::string token = pnm_token(text);
    char* end = nullptr;
    const double scale = std::strtod(token.c_str(), &end);
    if (token.empty() || *end != '\0' || scale == 0 || !std::isfinite(scale)) {
      return text.empty() ? cut_off(file) : corrupt("its header has no scale");
    }
    return ends_before(file, file.size() - text.size() + 4 * *width * *height);
  }
  if (kind == '4') return ends_before(file, file.size() - text.size() + (*width + 7) / 8 * *height);
  std::uint64_t most = 1;
  if (kind != '1') {
    const auto value = whole_number(pnm_token(text));
    if (!value || *value == 0 || *value > 65535) {
      return text.empty() && !value ? cut_off(file) : corrupt("its header has no largest value up to 65535");
    }
    most = *value;
  }
  const std::uint64_t values = *width * *height * channels;
  if (kind < '4') return plain_pnm_problem(file, text, values, most, kind == '1');
  return ends_before(file, file.size() - text.size() + values * (most > 255 ? 2 : 1));
}

Problem gif_problem(Bytes file) {
  if (file.size() < 13) return cut_off(file);
  const auto palette = [&](std::size_t flags_at) {
    const unsigned flags = byte_at(file, flags_at);
    return (flags & 0x80U) != 0 ? std::size_t{3} << ((flags & 7U) + 1) : 0;
  };
  std::size_t at = 13 + palette(10);
  while (at < file.size() && byte_at(file, at) != ',') {
    const unsigned kind = byte_at(file, at);
    if (kind == ';') return corrupt("it has no frame");
    at = kind == '!' ? behind_blocks(file, at + 2) : at + 1;
  }
  if (at + 11 > file.size()) return cut_off(file);
  const std::uint64_t width = little_u16(file, at + 5);
  const std::uint64_t height = little_u16(file, at + 7);
  if (auto problem = sides_problem(width, height)) return problem;
  const std::uint64_t screen_width = std::max<std::uint64_t>(little_u16(file, 6), little_u16(file, at + 1) + width);
  const std::uint64_t screen_height = std::max<std::uint64_t>(little_u16(file, 8), little_u16(file, at + 3) + height);
  if (auto problem = sides_problem(screen_width, screen_height)) return problem;
  at += 10 + palette(at + 9);
  if (at >= file.size()) return cut_off(file);
  return GifCodes(file, at + 1, byte_at(file, at)).follow(width * height);
}

Problem tiff_problem(Bytes file) {
  if (file.size() < 8) return cut_off(file);
  TiffTags tags(file);
  if (!tags.read()) return cut_off(file);
  const bool tiled = tags.all(kStripOffsets).empty();
  const std::vector<std::uint64_t>& offsets = tags.all(tiled ? kTileOffsets : kStripOffsets);
  if (tags.all(kWidth).empty() || tags.all(kHeight).empty() || offsets.empty()) {
    return corrupt("its directory does not place the pixels");
  }
  if (auto problem = sides_problem(tags.first(kWidth, 0), tags.first(kHeight, 0))) return problem;
  if (tags.first(kCompression, 1) == 1) return raw_tiff_problem(file, tags, tiled);
  const std::vector<std::uint64_t>& bytes = tags.all(tiled ? kTileBytes : kStripBytes);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::uint64_t size = i < bytes.size() ? bytes[i] : 1;
    if (offsets[i] > file.size() || size > file.size() - offsets[i]) return cut_off(file);
  }
  return std::nullopt;
}

}  // namespace shardkit::image
