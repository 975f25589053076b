#include "dataset/checks/image_fault.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"
#include "formats/sample_name.hpp"
#include "image/image_header.hpp"

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

ProblemCode code_of(image::DecodeFailure failure) {
  switch (failure) {
    case image::DecodeFailure::warned:
      return ProblemCode::image_damaged;
    case image::DecodeFailure::truncated:
      return ProblemCode::image_truncated;
    case image::DecodeFailure::not_jpeg:
      return ProblemCode::image_other_format;
    case image::DecodeFailure::zero_pixels:
      return ProblemCode::image_zero_pixels;
    case image::DecodeFailure::too_large:
      return ProblemCode::image_too_large;
    case image::DecodeFailure::too_many_scans:
      return ProblemCode::image_too_many_scans;
    case image::DecodeFailure::none:
    case image::DecodeFailure::corrupt:
      break;
  }
  return ProblemCode::image_corrupt;
}

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
  if (image::sniff_image(image) != image::ImageKind::jpeg) return std::nullopt;
  const image::Decoded decoded = decoder.decode(image);
  if (decoded.failure != image::DecodeFailure::none) {
    return ImageFault{code_of(decoded.failure), std::string(decoded.message)};
  }
  if (image::read_jpeg_header(image).header.is_cmyk()) return ImageFault{ProblemCode::image_cmyk, {}};
  return std::nullopt;
}

ImageJudge::ImageJudge(unsigned cores) : decoders_(cores, [] { return std::make_unique<image::JpegDecoder>(); }) {}

std::optional<ImageFault> ImageJudge::fault(Bytes image, std::string_view extension) {
  return image_fault(*decoders_.borrow(), image, extension);
}

}  // namespace shardkit::dataset
