#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "formats/image_names.hpp"

/// Information from a file's first bytes, without decoding a pixel. Nothing is allocated; every function accepts any
/// bytes and is thread-safe.
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

/// The offset behind the last end-of-image marker after `scan_offset`; empty without one. Fast for an intact file: the
/// search runs from the end.
std::optional<std::size_t> end_of_image(Bytes file, std::size_t scan_offset);

using formats::ImageKind;

/// Recognizes the kind by magic number; kSniffedBytes are enough.
ImageKind sniff_image(Bytes head);
inline constexpr std::size_t kSniffedBytes = 12;

/// Whether a file is an image: by its extension, or by a magic number that texts and tables do not start with.
bool is_image(std::string_view extension, Bytes head);

/// Width and height in pixels according to the header.
struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// The dimensions of a JPEG, PNG, GIF, WebP or BMP; empty for other kinds and if the header ends too early.
std::optional<ImageSize> image_size(Bytes file);

}  // namespace shardkit::image
