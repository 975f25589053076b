#pragma once

#include <array>
#include <string_view>

#include "core/fields.hpp"

/// What the extension of a file name says about images. Extensions are without their dot and in any case.
namespace shardkit::formats {

enum class ImageKind { unknown, jpeg, png, gif, webp, bmp, tiff, pnm, avif, heic, jpeg_xl, jpeg_2000 };
constexpr auto enum_names(ImageKind) {
  return std::to_array<std::string_view>(
      {"unknown", "JPEG", "PNG", "GIF", "WebP", "BMP", "TIFF", "PNM", "AVIF", "HEIC", "JPEG XL", "JPEG 2000"});
}

/// The kind that an extension promises, also with its dot; unknown if it promises none.
ImageKind promised_kind(std::string_view extension);

/// True for the extensions that torchvision treats as images (torchvision/datasets/folder.py, IMG_EXTENSIONS).
bool is_image_extension(std::string_view extension);

}  // namespace shardkit::formats
