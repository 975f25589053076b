#include "image/image_header.hpp"

#include <algorithm>
#include <cctype>

#include "formats/image_names.hpp"
#include "image/byte_order.hpp"

using namespace std::string_view_literals;

namespace shardkit::image {
namespace {

constexpr unsigned kSof0 = 0xC0;
constexpr unsigned kDht = 0xC4;
constexpr unsigned kJpg = 0xC8;
constexpr unsigned kDac = 0xCC;
constexpr unsigned kSof15 = 0xCF;
constexpr unsigned kRst0 = 0xD0;
constexpr unsigned kSoi = 0xD8;
constexpr unsigned kEoi = 0xD9;
constexpr unsigned kSos = 0xDA;
constexpr unsigned kApp0 = 0xE0;
constexpr unsigned kApp1 = 0xE1;
constexpr unsigned kApp2 = 0xE2;
constexpr unsigned kApp14 = 0xEE;
constexpr unsigned kTem = 0x01;

bool is_frame_header(unsigned marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

bool is_progressive(unsigned marker) { return marker % 4 == 2; }

bool stands_alone(unsigned marker) { return (marker >= kRst0 && marker <= kSoi) || marker == kTem; }

/// Luma's factors over chroma's. A scale shared by all components (such as 2x2, 2x2, 2x2) subsamples nothing.
Subsampling subsampling_of(std::span<const unsigned> factors) {
  if (factors.size() == 1) return Subsampling::gray;
  const unsigned chroma_h = factors[1] >> 4U;
  const unsigned chroma_v = factors[1] & 15U;
  const unsigned luma_h = factors[0] >> 4U;
  const unsigned luma_v = factors[0] & 15U;
  if (factors[2] != factors[1] || luma_h % chroma_h != 0 || luma_v % chroma_v != 0) return Subsampling::other;
  constexpr std::array known{std::pair{0x11U, Subsampling::s444}, std::pair{0x21U, Subsampling::s422},
                             std::pair{0x22U, Subsampling::s420}, std::pair{0x12U, Subsampling::s440},
                             std::pair{0x41U, Subsampling::s411}};
  const unsigned ratios = luma_h / chroma_h * 16 + luma_v / chroma_v;
  const auto* const found = std::ranges::find(known, ratios, &std::pair<unsigned, Subsampling>::first);
  return found == known.end() ? Subsampling::other : found->second;
}

/// SOFn (T.81 B.2.2): precision, height, width, count, then id, factors and table of each component.
bool read_frame(Bytes segment, unsigned marker, JpegHeader& header) {
  if (segment.size() < 6) return false;
  header.progressive = is_progressive(marker);
  header.height = big_u16(segment, 1);
  header.width = big_u16(segment, 3);
  header.components = byte_at(segment, 5);
  if (header.components != 1 && header.components != 3 && header.components != 4) return false;
  if (segment.size() < 6 + 3 * std::size_t{header.components}) return false;
  std::array<unsigned, 4> factors{};
  for (unsigned i = 0; i < header.components; ++i) {
    factors.at(i) = byte_at(segment, 6 + 3 * i + 1);
    const unsigned h = factors.at(i) >> 4U;
    const unsigned v = factors.at(i) & 15U;
    if (h < 1 || h > 4 || v < 1 || v > 4) return false;
  }
  header.subsampling = subsampling_of(std::span(factors).first(header.components));
  const auto is_named = [&](unsigned component, unsigned id) { return byte_at(segment, 6 + 3 * component) == id; };
  header.named_rgb = header.components == 3 && is_named(0, 'R') && is_named(1, 'G') && is_named(2, 'B');
  return true;
}

/// The orientation tag (0x0112) of Exif's first directory, or 1.
unsigned read_orientation(Bytes segment) {
  constexpr std::string_view kMagic("Exif\0\0", 6);
  if (!as_text(segment).starts_with(kMagic)) return 1;
  const Bytes tiff = segment.subspan(kMagic.size());
  if (tiff.size() < 8) return 1;
  const bool little = as_text(tiff).starts_with("II");
  const auto u16 = [&](std::size_t at) { return little ? little_u16(tiff, at) : big_u16(tiff, at); };
  const std::size_t directory = little ? little_u32(tiff, 4) : big_u32(tiff, 4);
  if (directory + 2 > tiff.size()) return 1;
  const std::size_t entries = u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (u16(entry) != 0x0112) continue;
    const unsigned value = u16(entry + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/// Adds the facts of one segment; false if it contradicts the format.
bool read_segment(unsigned marker, Bytes segment, JpegHeader& header) {
  if (is_frame_header(marker)) return read_frame(segment, marker, header);
  // What Pillow's header parser (JpegImagePlugin.APP, SOF) reads without a look at the length.
  const std::string_view text = as_text(segment);
  if (marker == kApp0 && text.starts_with("JFIF") && segment.size() < 7) return false;
  if (marker == kApp2 && text.starts_with("ICC_PROFILE\0"sv) && segment.size() < 14) return false;
  if (marker == kApp14 && text.starts_with("Adobe") && segment.size() < 7) return false;
  if (marker == kApp1 && header.orientation == 1) header.orientation = read_orientation(segment);
  if (marker == kApp14 && segment.size() >= 12 && as_text(segment).starts_with("Adobe")) {
    header.adobe = true;
    header.adobe_transform = byte_at(segment, 11);
  }
  return true;
}

/// Moves `at` behind the next marker and returns its code; 0 when the bytes end first.
unsigned next_marker(Bytes file, std::size_t& at) {
  while (true) {
    while (at < file.size() && byte_at(file, at) != 0xFF) ++at;
    while (at < file.size() && byte_at(file, at) == 0xFF) ++at;
    if (at >= file.size()) return 0;
    if (const unsigned code = byte_at(file, at++); code != 0) return code;
  }
}

std::string_view text_at(Bytes file, std::size_t at, std::size_t count) {
  return file.size() < at + count ? std::string_view{} : as_text(file.subspan(at, count));
}

/// Netpbm: P1 to P6, or Pf for floats, then white space.
bool is_pnm(Bytes head) {
  if (head.size() < 3 || byte_at(head, 0) != 'P') return false;
  const std::uint32_t digit = byte_at(head, 1);
  return ((digit >= '1' && digit <= '6') || digit == 'f') && std::isspace(static_cast<int>(byte_at(head, 2))) != 0;
}

/// PNG: the first chunk is IHDR, with width and height at 16 and 20 (PNG 1.2, 11.2.2).
std::optional<ImageSize> png_size(Bytes file) {
  if (file.size() < 24 || text_at(file, 12, 4) != "IHDR") return std::nullopt;
  return ImageSize{big_u32(file, 16), big_u32(file, 20)};
}

/// GIF: the logical screen's size follows the signature (GIF89a, 18).
std::optional<ImageSize> gif_size(Bytes file) {
  if (file.size() < 10) return std::nullopt;
  return ImageSize{little_u16(file, 6), little_u16(file, 8)};
}

/// BMP: BITMAPINFOHEADER and its successors; a negative height means rows from the top.
std::optional<ImageSize> bmp_size(Bytes file) {
  if (file.size() < 26) return std::nullopt;
  const std::uint32_t height = little_u32(file, 22);
  return ImageSize{little_u32(file, 18), (height >> 31U) != 0 ? 0 - height : height};
}

/// WebP: canvas of VP8X, else the frame header of VP8 or VP8L (RFC 9649).
std::optional<ImageSize> webp_size(Bytes file) {
  const std::string_view chunk = text_at(file, 12, 4);
  if (chunk == "VP8L" && file.size() >= 25) {
    const std::uint32_t packed = little_u32(file, 21);
    return ImageSize{(packed & 0x3FFFU) + 1, ((packed >> 14U) & 0x3FFFU) + 1};
  }
  if (file.size() < 30) return std::nullopt;
  if (chunk == "VP8X") {
    const std::uint32_t width = little_u32(file, 24) & 0xFFFFFFU;
    const std::uint32_t height = little_u16(file, 27) | byte_at(file, 29) << 16U;
    return ImageSize{width + 1, height + 1};
  }
  if (chunk == "VP8 ") return ImageSize{little_u16(file, 26) & 0x3FFFU, little_u16(file, 28) & 0x3FFFU};
  return std::nullopt;
}

/// HEIF's kinds by their brand (ISO/IEC 23008-12, AVIF 1.1).
ImageKind brand_kind(std::string_view brand) {
  if (brand == "avif" || brand == "avis") return ImageKind::avif;
  constexpr std::array heifs{"heic"sv, "heix"sv, "hevc"sv, "heim"sv, "heis"sv, "mif1"sv, "msf1"sv};
  return std::ranges::find(heifs, brand) == heifs.end() ? ImageKind::unknown : ImageKind::heic;
}

std::optional<ImageSize> jpeg_size(Bytes file) {
  const JpegHeaderResult read = read_jpeg_header(file);
  if (read.status != JpegHeaderStatus::ok) return std::nullopt;
  return ImageSize{read.header.width, read.header.height};
}

}  // namespace

JpegHeaderResult read_jpeg_header(Bytes file) {
  JpegHeaderResult result;
  if (file.size() < 2 || big_u16(file, 0) != 0xFFD8) return result;
  const auto ended = [&](JpegHeaderStatus status) {
    result.status = status;
    return result;
  };
  std::size_t at = 2;
  while (true) {
    const unsigned marker = next_marker(file, at);
    if (marker == 0) return ended(JpegHeaderStatus::truncated);
    if (marker == kEoi) return ended(JpegHeaderStatus::corrupt);
    if (stands_alone(marker)) continue;
    if (file.size() - at < 2) return ended(JpegHeaderStatus::truncated);
    const std::size_t length = big_u16(file, at);
    if (length < 2) return ended(JpegHeaderStatus::corrupt);
    if (file.size() - at < length) return ended(JpegHeaderStatus::truncated);
    if (!read_segment(marker, file.subspan(at + 2, length - 2), result.header)) {
      return ended(JpegHeaderStatus::corrupt);
    }
    at += length;
    if (marker == kSos) break;
  }
  result.header.scan_offset = at;
  return ended(result.header.components == 0 ? JpegHeaderStatus::corrupt : JpegHeaderStatus::ok);
}

std::optional<std::size_t> end_of_image(Bytes file, std::size_t scan_offset) {
  constexpr std::string_view kMarker = "\xFF\xD9";
  if (scan_offset >= file.size()) return std::nullopt;
  const std::size_t at = as_text(file.subspan(scan_offset)).rfind(kMarker);
  if (at == std::string_view::npos) return std::nullopt;
  return scan_offset + at + kMarker.size();
}

ImageKind sniff_image(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\xFF\xD8\xFF"sv)) return ImageKind::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n"sv)) return ImageKind::png;
  if (text.starts_with("GIF87a"sv) || text.starts_with("GIF89a"sv)) return ImageKind::gif;
  if (text.starts_with("RIFF"sv) && text_at(head, 8, 4) == "WEBP"sv) return ImageKind::webp;
  if (text.starts_with("BM"sv)) return ImageKind::bmp;
  constexpr std::array tiffs{"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv};  // classic and BigTIFF
  if (std::ranges::any_of(tiffs, [&](std::string_view magic) { return text.starts_with(magic); }))
    return ImageKind::tiff;
  if (is_pnm(head)) return ImageKind::pnm;
  if (text_at(head, 4, 4) == "ftyp"sv) return brand_kind(text_at(head, 8, 4));
  if (text.starts_with("\xFF\x0A"sv) || text.starts_with("\0\0\0\x0CJXL "sv)) return ImageKind::jpeg_xl;
  if (text.starts_with("\0\0\0\x0CjP  "sv) || text.starts_with("\xFF\x4F\xFF\x51"sv)) return ImageKind::jpeg_2000;
  return ImageKind::unknown;
}

bool is_image(std::string_view extension, Bytes head) {
  if (formats::promised_kind(extension) != ImageKind::unknown) return true;
  const ImageKind kind = sniff_image(head);  // a text may start with "BM" or "P5 "
  return kind != ImageKind::unknown && kind != ImageKind::bmp && kind != ImageKind::pnm;
}

std::optional<ImageSize> image_size(Bytes file) {
  switch (sniff_image(file)) {
    case ImageKind::jpeg:
      return jpeg_size(file);
    case ImageKind::png:
      return png_size(file);
    case ImageKind::gif:
      return gif_size(file);
    case ImageKind::webp:
      return webp_size(file);
    case ImageKind::bmp:
      return bmp_size(file);
    default:
      return std::nullopt;
  }
}

}  // namespace shardkit::image
