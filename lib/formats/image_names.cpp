#include "formats/image_names.hpp"

#include <algorithm>
#include <array>

#include "core/text.hpp"

namespace shardkit::formats {
namespace {

struct ImageName {
  std::string_view extension;
  ImageKind kind;
  bool of_image_folder = false;  ///< torchvision's ImageFolder reads it
};

/// Null for other extensions.
const ImageName* find_image_name(std::string_view extension) {
  using enum ImageKind;
  static constexpr std::array names{
      ImageName{"jpg", jpeg, true},  ImageName{"jpeg", jpeg, true}, ImageName{"jfif", jpeg},
      ImageName{"jpe", jpeg},        ImageName{"png", png, true},   ImageName{"gif", gif},
      ImageName{"webp", webp, true}, ImageName{"bmp", bmp, true},   ImageName{"tif", tiff, true},
      ImageName{"tiff", tiff, true}, ImageName{"ppm", pnm, true},   ImageName{"pgm", pnm, true},
      ImageName{"pbm", pnm},         ImageName{"pnm", pnm},         ImageName{"pfm", pnm},
      ImageName{"avif", avif},       ImageName{"heic", heic},       ImageName{"heif", heic},
      ImageName{"jxl", jpeg_xl},     ImageName{"jp2", jpeg_2000}};
  const auto* const found = std::ranges::find(names, lower_case(extension), &ImageName::extension);
  return found == names.end() ? nullptr : found;
}

}  // namespace

ImageKind promised_kind(std::string_view extension) {
  if (extension.starts_with('.')) extension.remove_prefix(1);
  const ImageName* name = find_image_name(extension);
  return name == nullptr ? ImageKind::unknown : name->kind;
}

bool is_image_extension(std::string_view extension) {
  const ImageName* name = find_image_name(extension);
  return name != nullptr && name->of_image_folder;
}

}  // namespace shardkit::formats
