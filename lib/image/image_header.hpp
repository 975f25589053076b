#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"

/// Information from a file's first bytes, without decoding a pixel. Only the text of a problem is allocated; every
/// function accepts any bytes and is thread-safe.
namespace shardkit::image {

/// Chroma subsampling, by its usual names. `other` is any factor without one.
enum class Subsampling { s444, s422, s420, s440, s411, gray, other };
constexpr auto enum_names(Subsampling) {
  return std::to_array<std::string_view>({"4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "gray", "other"});
}

/// Values of a JPEG's header (ITU-T T.81 Annex B, Exif 2.3 for the orientation).
struct JpegHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned components = 0;  ///< 1 gray, 3 color, 4 CMYK or YCCK
  Subsampling subsampling = Subsampling::other;
  bool progressive = false;
  bool adobe = false;            ///< has an APP14 Adobe marker: CMYK is stored inverted then
  unsigned adobe_transform = 0;  ///< 0 RGB or CMYK, 1 YCbCr, 2 YCCK; only with `adobe`
  bool named_rgb = false;        ///< its components are named 'R', 'G', 'B': RGB if no marker says otherwise
  unsigned orientation = 1;      ///< Exif orientation 1..8; 1 is upright, also without Exif
  std::size_t scan_offset = 0;   ///< where the first scan's entropy-coded data starts

  bool is_cmyk() const { return components == 4; }
};

enum class JpegHeaderStatus {
  ok,
  not_jpeg,   ///< does not start with FF D8
  truncated,  ///< the bytes end before the first scan
  corrupt,    ///< a segment contradicts the format
};

struct JpegHeaderResult {
  JpegHeaderStatus status = JpegHeaderStatus::not_jpeg;
  JpegHeader header;  ///< complete if status is ok, else what was read so far
};

/// Parses the markers up to the first scan. Bytes between segments are skipped, as in libjpeg.
JpegHeaderResult read_jpeg_header(Bytes file);

/// True if there is an end-of-image marker after `scan_offset`. Fast for an intact file: the search runs from the end.
bool has_end_of_image(Bytes file, std::size_t scan_offset);

enum class ImageKind { unknown, jpeg, png, gif, webp, bmp, tiff, pnm };
constexpr auto enum_names(ImageKind) {
  return std::to_array<std::string_view>({"unknown", "JPEG", "PNG", "GIF", "WebP", "BMP", "TIFF", "PNM"});
}

/// Recognizes the kind by magic number; 12 bytes are enough.
ImageKind sniff_image(Bytes head);

/// Width and height in pixels according to the header.
struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// The dimensions of a JPEG, PNG, GIF, WebP or BMP; empty for other kinds and if the header ends too early.
std::optional<ImageSize> image_size(Bytes file);

/// Faults of an image that its header and its closing bytes show.
enum class ImageFlaw {
  empty,           ///< the file is empty
  not_an_image,    ///< the first bytes are not those of a known kind
  other_format,    ///< of another kind than its name
  truncated,       ///< the bytes end early
  no_end,          ///< a baseline JPEG without an end marker: readers accept it if all its rows exist
  corrupt_header,  ///< a segment contradicts the format
  zero_pixels,     ///< width or height is 0
};
constexpr auto enum_names(ImageFlaw) {
  return std::to_array<std::string_view>(
      {"empty", "not_an_image", "other_format", "truncated", "no_end", "corrupt_header", "zero_pixels"});
}

/// Why a file is not the image that its name promises.
struct ImageProblem {
  ImageFlaw flaw = ImageFlaw::empty;
  /// One line without the file's name.
  std::string text;
};

/// Checks only the first bytes (12 are enough): ImageFlaw::empty, not_an_image or other_format. `extension` as below.
std::optional<ImageProblem> magic_problem(Bytes head, std::string_view extension);

/// Checks the header and the closing bytes of a whole file. `extension` is the file name's, with or without its dot, in
/// any case; its kind is compared with the kind found, but an extension without a kind matches all. Empty if nothing is
/// wrong; decoding may find more.
std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension);

}  // namespace shardkit::image
