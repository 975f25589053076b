#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "dataset/checks/problem.hpp"
#include "image/pixel_check.hpp"

/// The only judge of images, used by verify, convert --validate and reshard --drop-bad.
namespace shardkit::dataset {

/// Larger images are refused without a look: no decoder would accept their pixels.
inline constexpr std::uint64_t kLargestImage = 512U << 20U;

/// A fault of an image.
struct ImageFault {
  ProblemCode code = ProblemCode::image_corrupt;
  std::string text;  ///< the details; may be empty

  /// Whether readers stop at the image or misread it. Other faults, such as CMYK, affect only some readers.
  bool is_error() const { return problem_kind(code).severity == Severity::error; }
  /// The details, else the meaning of the code.
  std::string_view reason() const;
  /// "image_truncated: the file is empty".
  std::string describe() const;
};

/// The finding of verify for an image that cannot be decoded.
ProblemCode decode_code(image::DecodeFailure failure);

/// True for members that are judged: "jpg", "seg.png", and every other whose content starts as an image.
/// image::kSniffedBytes of it are enough.
bool is_image_member(std::string_view extension, Bytes head);

/// Looks at the first and the last bytes of a whole image (image::ends_problem()). `extension` is the member's. Empty
/// for a sound image, here and below. Thread-safe.
std::optional<ImageFault> ends_fault(Bytes image, std::string_view extension);

/// Looks at the header, too. Thread-safe.
std::optional<ImageFault> header_fault(Bytes image, std::string_view extension);

/// True if only the rows show what the fault is that one of the above found: for a JPEG or PNG without its end, which
/// image_fault() then decodes.
bool needs_decoding(const std::optional<ImageFault>& fault);

/// Looks at all of an image: it is decoded to its last row, or followed by its offsets (image::has_decoder()).
std::optional<ImageFault> image_fault(image::PixelChecker& checker, Bytes image, std::string_view extension);

}  // namespace shardkit::dataset
