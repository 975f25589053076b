#include "formats/image_names.hpp"

#include <doctest/doctest.h>

using namespace shardkit::formats;

TEST_CASE("what torchvision reads as an image promises a kind, in any case; other kinds are known, too") {
  for (const char* extension : {"jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp", "JPEG"}) {
    CAPTURE(extension);
    CHECK(is_image_extension(extension));
    CHECK(promised_kind(extension) != ImageKind::unknown);
  }
  for (const char* extension : {"gif", "avif", "jxl", "heic", "jfif", "cls", "json", "", ".jpg"})
    CHECK_FALSE(is_image_extension(extension));
  CHECK(promised_kind(".Jpe") == ImageKind::jpeg);
  CHECK(promised_kind("heif") == ImageKind::heic);
  CHECK(promised_kind("cls") == ImageKind::unknown);
  CHECK(promised_kind("") == ImageKind::unknown);
}
