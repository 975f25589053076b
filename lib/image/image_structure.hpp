#pragma once

#include <cstdint>
#include <optional>

#include "core/bytes.hpp"
#include "image/image_problem.hpp"

/// Images without a decoder of their own, followed by the offsets in them as Pillow 13 does (BmpImagePlugin,
/// PpmImagePlugin, GifImagePlugin and TiffImagePlugin): a file without a problem is one that it opens. Every function
/// accepts any bytes and is thread-safe.
namespace shardkit::image {

/// Images with more pixels than Pillow opens are refused before memory is allocated: 2 * 89,478,485.
inline constexpr std::uint64_t kMostCheckedPixels = 178'956'970;

/// The fault that sides show; empty for sides that readers accept.
std::optional<ImageProblem> sides_problem(std::uint64_t width, std::uint64_t height);

/// A BMP's header, and its rows to the last pixel.
std::optional<ImageProblem> bmp_problem(Bytes file);
/// A PBM, PGM, PPM or PFM, as text or binary, to its last value.
std::optional<ImageProblem> pnm_problem(Bytes file);
/// The first frame of a GIF: its codes are followed to the last pixel.
std::optional<ImageProblem> gif_problem(Bytes file);
/// The first directory of a TIFF or BigTIFF and the places of its strips or tiles. What is in them is not decoded.
std::optional<ImageProblem> tiff_problem(Bytes file);

}  // namespace shardkit::image
