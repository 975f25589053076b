#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"

namespace shardkit {

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

}  // namespace shardkit
