#include "image/jpeg_header.hpp"

#include <algorithm>
#include <array>

#include "image/byte_order.hpp"

namespace shardkit {
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
constexpr unsigned kApp1 = 0xE1;
constexpr unsigned kApp14 = 0xEE;
constexpr unsigned kTem = 0x01;

bool is_frame_header(unsigned marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

bool is_progressive(unsigned marker) { return marker % 4 == 2; }

bool stands_alone(unsigned marker) { return (marker >= kRst0 && marker <= kSoi) || marker == kTem; }

Subsampling name_sampling(unsigned h, unsigned v) {
  switch (h * 16 + v) {
    case 0x11:
      return Subsampling::s444;
    case 0x21:
      return Subsampling::s422;
    case 0x22:
      return Subsampling::s420;
    case 0x12:
      return Subsampling::s440;
    case 0x41:
      return Subsampling::s411;
    default:
      return Subsampling::other;
  }
}

/// Luma's factors over chroma's. A scale shared by all components (such as 2x2, 2x2, 2x2) subsamples nothing.
Subsampling subsampling_of(std::span<const unsigned> factors) {
  if (factors.size() == 1) return Subsampling::gray;
  const unsigned chroma_h = factors[1] >> 4U;
  const unsigned chroma_v = factors[1] & 15U;
  const unsigned luma_h = factors[0] >> 4U;
  const unsigned luma_v = factors[0] & 15U;
  if (factors[2] != factors[1] || luma_h % chroma_h != 0 || luma_v % chroma_v != 0) return Subsampling::other;
  return name_sampling(luma_h / chroma_h, luma_v / chroma_v);
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
  if (directory > tiff.size() - 2) return 1;
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

/// Takes in what one segment says; false when it contradicts the format.
bool read_segment(unsigned marker, Bytes segment, JpegHeader& header) {
  if (is_frame_header(marker)) return read_frame(segment, marker, header);
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

}  // namespace

std::string_view subsampling_name(Subsampling subsampling) {
  constexpr std::array<std::string_view, 7> names{"4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "gray", "other"};
  return names.at(static_cast<std::size_t>(subsampling));
}

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

bool has_end_of_image(Bytes file, std::size_t scan_offset) {
  if (scan_offset >= file.size()) return false;
  return as_text(file.subspan(scan_offset)).rfind("\xFF\xD9") != std::string_view::npos;
}

}  // namespace shardkit
