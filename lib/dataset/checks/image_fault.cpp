#include "dataset/checks/image_fault.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"
#include "formats/sample_name.hpp"
#include "image/image_header.hpp"
#include "image/image_problem.hpp"
#include "image/pixel_check.hpp"

namespace shardkit::dataset {
namespace {

/// "seg.png" is a PNG.
std::string_view last_extension(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

/// By image::ImageFlaw, in its order.
constexpr std::array kFlawCodes{
    ProblemCode::image_truncated, ProblemCode::image_not_an_image, ProblemCode::image_other_format,
    ProblemCode::image_truncated, ProblemCode::image_no_end,       ProblemCode::image_data_after_end,
    ProblemCode::image_corrupt,   ProblemCode::image_zero_pixels,
};
static_assert(kFlawCodes.size() == kEnumNames<image::ImageFlaw>.size());

using FindProblem = std::optional<image::ImageProblem>(Bytes image, std::string_view extension);

/// An image of another format than its name says may also be damaged, which is more severe.
std::optional<ImageFault> most_severe(FindProblem find_problem, Bytes image, std::string_view extension) {
  auto problem = find_problem(image, extension);
  if (problem && problem->flaw == image::ImageFlaw::other_format) {
    if (auto other = find_problem(image, {}); other && other->flaw != image::ImageFlaw::after_end) problem = other;
  }
  if (!problem) return std::nullopt;
  return ImageFault{kFlawCodes[static_cast<std::size_t>(problem->flaw)], std::move(problem->text)};
}

/// By image::DecodeFailure, in its order.
constexpr std::array kDecodeCodes{
    ProblemCode::image_corrupt,   ProblemCode::image_damaged,        ProblemCode::image_truncated,
    ProblemCode::image_corrupt,   ProblemCode::image_other_format,   ProblemCode::image_zero_pixels,
    ProblemCode::image_too_large, ProblemCode::image_too_many_scans,
};
static_assert(kDecodeCodes.size() == kEnumNames<image::DecodeFailure>.size());

/// A JPEG without an end marker is decoded as if it had one: then libjpeg complains only of rows that are missing.
std::optional<ImageFault> fault_without_end(image::JpegDecoder& decoder, Bytes image, ImageFault no_end) {
  std::vector<std::byte> ended(image.begin(), image.end());
  ended.insert(ended.end(), {std::byte{0xFF}, std::byte{0xD9}});
  const bool whole = decoder.decode(ended).failure == image::DecodeFailure::none;
  return whole ? no_end : ImageFault{ProblemCode::image_truncated, std::move(no_end.text)};
}

/// What decoding finds in an image with a sound header.
std::optional<ImageFault> pixel_fault(image::JpegDecoder& decoder, Bytes image) {
  if (image::sniff_image(image) != image::ImageKind::jpeg) {
    const image::PixelVerdict checked = image::check_pixels(image);
    if (checked.failure == image::DecodeFailure::none) return std::nullopt;
    return ImageFault{decode_code(checked.failure), checked.message};
  }
  const image::Decoded decoded = decoder.decode(image);
  if (decoded.failure != image::DecodeFailure::none) {
    return ImageFault{decode_code(decoded.failure), std::string(decoded.message)};
  }
  if (image::read_jpeg_header(image).header.is_cmyk()) return ImageFault{ProblemCode::image_cmyk, {}};
  return std::nullopt;
}

}  // namespace

std::string_view ImageFault::reason() const { return text.empty() ? problem_kind(code).meaning : text; }

std::string ImageFault::describe() const { return fmt::format("{}: {}", problem_kind(code).name, reason()); }

ProblemCode decode_code(image::DecodeFailure failure) { return kDecodeCodes[static_cast<std::size_t>(failure)]; }

bool is_image_member(std::string_view extension) { return formats::is_image_extension(last_extension(extension)); }

std::optional<ImageFault> ends_fault(Bytes image, std::string_view extension) {
  return most_severe(image::ends_problem, image, last_extension(extension));
}

std::optional<ImageFault> header_fault(Bytes image, std::string_view extension) {
  return most_severe(image::header_problem, image, last_extension(extension));
}

bool needs_decoding(const std::optional<ImageFault>& fault) {
  return fault && fault->code == ProblemCode::image_no_end;
}

std::optional<ImageFault> image_fault(image::JpegDecoder& decoder, Bytes image, std::string_view extension) {
  if (image.size() > kLargestImage) return ImageFault{ProblemCode::image_too_large, format_size(image.size())};
  std::optional<ImageFault> fault = header_fault(image, extension);
  if (fault && fault->is_error()) return fault;
  if (needs_decoding(fault)) return fault_without_end(decoder, image, std::move(*fault));
  std::optional<ImageFault> found = pixel_fault(decoder, image);
  return found ? found : fault;
}

}  // namespace shardkit::dataset
