#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

/// What a file's first bytes say about it, without decoding a pixel. Nothing here allocates but the text of a
/// problem; every function takes any bytes whatever and is thread-safe.
namespace shardkit {

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

/// Why a file cannot be the image that its name promises.
struct ImageProblem {
  /// Stable: "empty", "not_an_image", "other_format", "truncated", "corrupt_header" or "zero_pixels".
  std::string_view code;
  /// One line for people, without the file's name.
  std::string text;
};

/// Looks at a whole file's bytes for what a look at the header and at the closing bytes can tell. `extension` is the
/// file name's, with or without its dot, in any case; the kind that it promises is compared with the kind found, but an
/// extension that promises no kind fits all. Empty when nothing is wrong; decoding may still find more.
std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension);

}  // namespace shardkit
