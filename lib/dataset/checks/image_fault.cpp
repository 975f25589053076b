#include "dataset/checks/image_fault.hpp"

#include <array>

#include <fmt/format.h>

#include "core/units.hpp"
#include "formats/sample_name.hpp"
#include "image/image_header.hpp"
#include "image/pixel_check.hpp"

namespace shardkit::dataset {
namespace {

/// "seg.png" is a PNG.
std::string_view last_extension(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

ProblemCode code_of_header(std::string_view code) {
  if (code == "truncated" || code == "empty") return ProblemCode::image_truncated;
  if (code == "zero_pixels") return ProblemCode::image_zero_pixels;
  if (code == "other_format") return ProblemCode::image_other_format;
  if (code == "not_an_image") return ProblemCode::image_not_an_image;
  return ProblemCode::image_corrupt;
}

/// By image::DecodeFailure, in its order.
constexpr std::array kDecodeCodes{
    ProblemCode::image_corrupt,   ProblemCode::image_damaged,        ProblemCode::image_truncated,
    ProblemCode::image_corrupt,   ProblemCode::image_other_format,   ProblemCode::image_zero_pixels,
    ProblemCode::image_too_large, ProblemCode::image_too_many_scans,
};
static_assert(kDecodeCodes.size() == kEnumNames<image::DecodeFailure>.size());

}  // namespace

std::string ImageFault::describe() const {
  const ProblemKind& kind = problem_kind(code);
  return fmt::format("{}: {}{}{}", kind.name, kind.meaning, text.empty() ? "" : ": ", text);
}

bool is_image_member(std::string_view extension) { return formats::is_image_extension(last_extension(extension)); }

std::optional<ImageFault> image_fault(image::JpegDecoder& decoder, Bytes image, std::string_view extension) {
  if (image.size() > kLargestImage) return ImageFault{ProblemCode::image_too_large, format_size(image.size())};
  if (const auto problem = image::header_problem(image, last_extension(extension))) {
    const ImageFault fault{code_of_header(problem->code), problem->text};
    if (fault.is_error()) return fault;
    // An image of another format than its name says may be damaged as well, which weighs more.
    auto worse = image_fault(decoder, image, {});
    return worse && worse->is_error() ? worse : fault;
  }
  if (image::sniff_image(image) != image::ImageKind::jpeg) {
    const image::PixelVerdict checked = image::check_pixels(image);
    if (checked.failure == image::DecodeFailure::none) return std::nullopt;
    return ImageFault{kDecodeCodes[static_cast<std::size_t>(checked.failure)], checked.message};
  }
  const image::Decoded decoded = decoder.decode(image);
  if (decoded.failure != image::DecodeFailure::none) {
    return ImageFault{kDecodeCodes[static_cast<std::size_t>(decoded.failure)], std::string(decoded.message)};
  }
  if (image::read_jpeg_header(image).header.is_cmyk()) return ImageFault{ProblemCode::image_cmyk, {}};
  return std::nullopt;
}

}  // namespace shardkit::dataset
