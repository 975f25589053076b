#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "dataset/checks/problem.hpp"
#include "image/jpeg_decoder.hpp"

/// The one judge of images: what verify reports, convert --validate refuses and reshard --drop-bad leaves out.
namespace shardkit::dataset {

/// Larger ones are not looked at but refused: no decoder would accept their pixels.
inline constexpr std::uint64_t kLargestImage = 512U << 20U;

/// What is wrong with an image.
struct ImageFault {
  ProblemCode code = ProblemCode::image_corrupt;
  std::string text;  ///< what was found; may be empty

  /// Readers stop at the image or take something else for it. Others, such as CMYK, only some reader stumbles over.
  bool is_error() const { return problem_kind(code).severity == Severity::error; }
  /// "image_truncated: what it means: what was found".
  std::string describe() const;
};

/// True for members that are judged: "jpg", "seg.png".
bool is_image_member(std::string_view extension);

/// Looks at an image's first bytes only: 12 are enough. `extension` is the member's. Empty for a sound image, here and
/// below. Thread-safe.
std::optional<ImageFault> magic_fault(Bytes head, std::string_view extension);

/// Looks at the header and the closing bytes of an image. Thread-safe.
std::optional<ImageFault> header_fault(Bytes image, std::string_view extension);

/// Looks at all of an image: a JPEG, PNG or WebP is decoded to its last row, of another kind (image::has_decoder()) the
/// header and the closing bytes are compared with the format.
std::optional<ImageFault> image_fault(image::JpegDecoder& decoder, Bytes image, std::string_view extension);

}  // namespace shardkit::dataset
