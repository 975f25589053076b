#include "dataset/checks/image_fault.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"
#include "image/image_header.hpp"
#include "image/image_problem.hpp"
#include "image/pixel_check.hpp"

namespace shardkit::dataset {
namespace {

/// "seg.png" is a PNG.
std::string_view last_extension(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

/// By image::ImageFlaw, in its order.
constexpr std::array kFlawCodes{
    ProblemCode::image_truncated,   ProblemCode::image_not_an_image, ProblemCode::image_other_format,
    ProblemCode::image_truncated,   ProblemCode::image_no_end,       ProblemCode::image_data_after_end,
    ProblemCode::image_corrupt,     ProblemCode::image_zero_pixels,  ProblemCode::image_too_large,
    ProblemCode::image_unsupported,
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

/// The fault of a JPEG or PNG without its end: some readers may find all rows. A JPEG that only lacks its marker
/// decodes without a warning when it gets one.
ImageFault fault_without_end(image::PixelChecker& checker, Bytes image, std::string text) {
  using enum image::DecodeFailure;
  const image::DecodeFailure failure = checker.check(image).failure;
  if (failure == none || failure == warned) return {ProblemCode::image_damaged, text + "; all rows are there"};
  if (image::sniff_image(image) == image::ImageKind::jpeg) {
    std::vector<std::byte> ended(image.begin(), image.end());
    ended.insert(ended.end(), {std::byte{0xFF}, std::byte{0xD9}});
    if (checker.check(ended).failure == none) return {ProblemCode::image_no_end, std::move(text)};
  }
  return {ProblemCode::image_truncated, std::move(text)};
}

/// What decoding finds in an image with a sound header.
std::optional<ImageFault> pixel_fault(image::PixelChecker& checker, Bytes image) {
  image::PixelVerdict checked = checker.check(image);
  if (checked.failure != image::DecodeFailure::none) {
    return ImageFault{decode_code(checked.failure), std::move(checked.message)};
  }
  if (image::read_jpeg_header(image).header.is_cmyk()) return ImageFault{ProblemCode::image_cmyk, {}};
  return std::nullopt;
}

}  // namespace

std::string_view ImageFault::reason() const { return text.empty() ? problem_kind(code).meaning : text; }

std::string ImageFault::describe() const { return fmt::format("{}: {}", problem_kind(code).name, reason()); }

ProblemCode decode_code(image::DecodeFailure failure) { return kDecodeCodes[static_cast<std::size_t>(failure)]; }

bool is_image_member(std::string_view extension, Bytes head) {
  return image::is_image(last_extension(extension), head);
}

std::optional<ImageFault> ends_fault(Bytes image, std::string_view extension) {
  return most_severe(image::ends_problem, image, last_extension(extension));
}

std::optional<ImageFault> header_fault(Bytes image, std::string_view extension) {
  return most_severe(image::header_problem, image, last_extension(extension));
}

bool needs_decoding(const std::optional<ImageFault>& fault) {
  return fault && fault->code == ProblemCode::image_no_end;
}

std::optional<ImageFault> image_fault(image::PixelChecker& checker, Bytes image, std::string_view extension) {
  if (image.size() > kLargestImage) return ImageFault{ProblemCode::image_too_large, format_size(image.size())};
  std::optional<ImageFault> fault = header_fault(image, extension);
  if (needs_decoding(fault)) return fault_without_end(checker, image, std::move(fault->text));
  if (fault && fault->is_error()) return fault;
  std::optional<ImageFault> found = pixel_fault(checker, image);
  return found ? found : fault;
}

}  // namespace shardkit::dataset
