#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"

/// What a file's first bytes say about it, without decoding a pixel. Nothing here allocates but the text of a
/// problem; every function takes any bytes whatever and is thread-safe.
namespace shardkit::image {

/// How chroma is stored beside luma: the names that image people use. `other` is any factor without one.
enum class Subsampling { s444, s422, s420, s440, s411, gray, other };

/// "4:4:4", "gray", ...
std::string_view subsampling_name(Subsampling subsampling);

/// Facts of a JPEG's header (ITU-T T.81 Annex B, Exif 2.3 for the orientation).
struct JpegHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned components = 0;  ///< 1 gray, 3 colour, 4 CMYK or YCCK
  Subsampling subsampling = Subsampling::other;
  bool progressive = false;
  bool adobe = false;            ///< has an APP14 Adobe marker: CMYK is stored inverted then
  unsigned adobe_transform = 0;  ///< 0 RGB or CMYK, 1 YCbCr, 2 YCCK; only with `adobe`
  bool named_rgb = false;        ///< its components are called 'R', 'G', 'B': RGB where no marker says otherwise
  unsigned orientation = 1;      ///< Exif orientation 1..8; 1 is upright, also where there is no Exif
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
  JpegHeader header;  ///< complete when status is ok, else what was read so far
};

/// Walks the markers up to the first scan. Bytes between segments are skipped, as libjpeg does.
JpegHeaderResult read_jpeg_header(Bytes file);

/// True when an end-of-image marker stands after `scan_offset`. Cheap on a sound file: the search runs from the end.
bool has_end_of_image(Bytes file, std::size_t scan_offset);

enum class ImageKind { unknown, jpeg, png, gif, webp, bmp, tiff, pnm };

/// "JPEG", "PNG", ...; "unknown" for ImageKind::unknown.
std::string_view image_kind_name(ImageKind kind);

/// Tells the kind by magic number; 12 bytes are enough.
ImageKind sniff_image(Bytes head);

/// Width and height in pixels as the header has them.
struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// The size of a JPEG, PNG, GIF, WebP or BMP; empty for other kinds and where the header ends too early.
std::optional<ImageSize> image_size(Bytes file);

/// What can be wrong with an image, as far as its header and its closing bytes tell.
enum class ImageFlaw {
  empty,           ///< the file has no bytes
  not_an_image,    ///< the first bytes are those of no known kind
  other_format,    ///< of another kind than the name says
  truncated,       ///< the bytes end early
  no_end,          ///< a baseline JPEG without an end marker: readers accept it if all its rows are there
  corrupt_header,  ///< a segment contradicts the format
  zero_pixels,     ///< a side is 0
};
constexpr auto enum_names(ImageFlaw) {
  return std::to_array<std::string_view>(
      {"empty", "not_an_image", "other_format", "truncated", "no_end", "corrupt_header", "zero_pixels"});
}

/// Why a file cannot be the image that its name promises.
struct ImageProblem {
  ImageFlaw flaw = ImageFlaw::empty;
  /// One line for people, without the file's name.
  std::string text;
};

/// Looks at the first bytes only (12 are enough): ImageFlaw::empty, not_an_image or other_format. `extension` as below.
std::optional<ImageProblem> magic_problem(Bytes head, std::string_view extension);

/// Looks at a whole file's bytes for what a look at the header and at the closing bytes can tell. `extension` is the
/// file name's, with or without its dot, in any case; the kind that it promises is compared with the kind found, but an
/// extension that promises no kind fits all. Empty when nothing is wrong; decoding may still find more.
std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension);

}  // namespace shardkit::image
