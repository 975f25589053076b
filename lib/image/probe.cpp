#include "image/probe.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "core/ascii.hpp"
#include "image/byte_order.hpp"
#include "image/jpeg_header.hpp"

namespace shardkit {
namespace {

using namespace std::string_view_literals;

std::string_view text_at(Bytes file, std::size_t at, std::size_t count) {
  return file.size() < at + count ? std::string_view{} : as_text(file.subspan(at, count));
}

/// Netpbm: P1 to P6, then white space.
bool is_pnm(Bytes head) {
  if (head.size() < 3 || byte_at(head, 0) != 'P') return false;
  const std::uint32_t digit = byte_at(head, 1);
  return digit >= '1' && digit <= '6' && std::isspace(static_cast<int>(byte_at(head, 2))) != 0;
}

/// PNG: the first chunk is IHDR, with width and height at 16 and 20 (PNG 1.2, 11.2.2).
std::optional<ImageSize> png_size(Bytes file) {
  if (file.size() < 24 || text_at(file, 12, 4) != "IHDR") return std::nullopt;
  return ImageSize{big_u32(file, 16), big_u32(file, 20)};
}

/// GIF: the logical screen's size follows the signature (GIF89a, 18).
std::optional<ImageSize> gif_size(Bytes file) {
  if (file.size() < 10) return std::nullopt;
  return ImageSize{little_u16(file, 6), little_u16(file, 8)};
}

/// BMP: BITMAPINFOHEADER and its successors; a negative height means rows from the top.
std::optional<ImageSize> bmp_size(Bytes file) {
  if (file.size() < 26) return std::nullopt;
  const std::uint32_t height = little_u32(file, 22);
  return ImageSize{little_u32(file, 18), (height >> 31U) != 0 ? 0 - height : height};
}

/// WebP: canvas of VP8X, else the frame header of VP8 or VP8L (RFC 9649).
std::optional<ImageSize> webp_size(Bytes file) {
  if (file.size() < 30) return std::nullopt;
  const std::string_view chunk = text_at(file, 12, 4);
  if (chunk == "VP8X") {
    const std::uint32_t width = little_u32(file, 24) & 0xFFFFFFU;
    const std::uint32_t height = little_u16(file, 27) | byte_at(file, 29) << 16U;
    return ImageSize{width + 1, height + 1};
  }
  if (chunk == "VP8 ") return ImageSize{little_u16(file, 26) & 0x3FFFU, little_u16(file, 28) & 0x3FFFU};
  if (chunk == "VP8L") {
    const std::uint32_t packed = little_u32(file, 21);
    return ImageSize{(packed & 0x3FFFU) + 1, ((packed >> 14U) & 0x3FFFU) + 1};
  }
  return std::nullopt;
}

std::optional<ImageSize> jpeg_size(Bytes file) {
  const JpegHeaderResult read = read_jpeg_header(file);
  if (read.status != JpegHeaderStatus::ok) return std::nullopt;
  return ImageSize{read.header.width, read.header.height};
}

/// The kind that an extension promises; unknown when it promises none.
ImageKind promised_kind(std::string_view extension) {
  if (extension.starts_with('.')) extension.remove_prefix(1);
  const std::string lower = lower_case(extension);
  struct Promise {
    std::string_view extension;
    ImageKind kind;
  };
  constexpr std::array promises{
      Promise{"jpg", ImageKind::jpeg}, Promise{"jpeg", ImageKind::jpeg}, Promise{"png", ImageKind::png},
      Promise{"gif", ImageKind::gif},  Promise{"webp", ImageKind::webp}, Promise{"bmp", ImageKind::bmp},
      Promise{"tif", ImageKind::tiff}, Promise{"tiff", ImageKind::tiff}, Promise{"ppm", ImageKind::pnm},
      Promise{"pgm", ImageKind::pnm},  Promise{"pbm", ImageKind::pnm},
  };
  const auto* found =
      std::find_if(promises.begin(), promises.end(), [&](const Promise& p) { return p.extension == lower; });
  return found == promises.end() ? ImageKind::unknown : found->kind;
}

/// What is wrong with the structure of a JPEG, by the walk over its markers and its end-of-image marker.
std::optional<ImageProblem> jpeg_problem(Bytes file) {
  const JpegHeaderResult read = read_jpeg_header(file);
  if (read.status == JpegHeaderStatus::truncated) {
    return ImageProblem{"truncated", fmt::format("the JPEG ends after {} bytes, within its header", file.size())};
  }
  if (read.status != JpegHeaderStatus::ok) {
    return ImageProblem{"corrupt_header", "the JPEG's header is damaged before its first scan"};
  }
  if (!has_end_of_image(file, read.header.scan_offset)) {
    return ImageProblem{"truncated",
                        fmt::format("the JPEG ends after {} bytes without an end-of-image marker", file.size())};
  }
  return std::nullopt;
}

/// Whether the bytes end before the file says it ends; only kinds whose end is known without a walk.
bool ends_early(Bytes file, ImageKind kind) {
  if (kind == ImageKind::png) return as_text(file).rfind("IEND") == std::string_view::npos;
  if (kind == ImageKind::webp) return file.size() < std::uint64_t{little_u32(file, 4)} + 8;
  return false;
}

}  // namespace

std::string_view image_kind_name(ImageKind kind) {
  constexpr std::array names{"unknown"sv, "JPEG"sv, "PNG"sv, "GIF"sv, "WebP"sv, "BMP"sv, "TIFF"sv, "PNM"sv};
  return names.at(static_cast<std::size_t>(kind));
}

ImageKind sniff_image(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\xFF\xD8\xFF"sv)) return ImageKind::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n"sv)) return ImageKind::png;
  if (text.starts_with("GIF87a"sv) || text.starts_with("GIF89a"sv)) return ImageKind::gif;
  if (text.starts_with("RIFF"sv) && text_at(head, 8, 4) == "WEBP"sv) return ImageKind::webp;
  if (text.starts_with("BM"sv)) return ImageKind::bmp;
  if (text.starts_with("II*\0"sv) || text.starts_with("MM\0*"sv)) return ImageKind::tiff;
  if (is_pnm(head)) return ImageKind::pnm;
  return ImageKind::unknown;
}

std::optional<ImageSize> image_size(Bytes file) {
  switch (sniff_image(file)) {
    case ImageKind::jpeg:
      return jpeg_size(file);
    case ImageKind::png:
      return png_size(file);
    case ImageKind::gif:
      return gif_size(file);
    case ImageKind::webp:
      return webp_size(file);
    case ImageKind::bmp:
      return bmp_size(file);
    default:
      return std::nullopt;
  }
}

std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension) {
  if (file.empty()) return ImageProblem{"empty", "the file holds no bytes"};
  const ImageKind kind = sniff_image(file);
  const ImageKind promised = promised_kind(extension);
  if (kind == ImageKind::unknown) return ImageProblem{"not_an_image", "the first bytes are not those of an image"};
  if (promised != ImageKind::unknown && promised != kind) {
    return ImageProblem{"other_format", fmt::format("the name says {} but the bytes are {}", image_kind_name(promised),
                                                    image_kind_name(kind))};
  }
  if (kind == ImageKind::jpeg) {
    if (auto problem = jpeg_problem(file)) return problem;
  }
  if (kind == ImageKind::tiff || kind == ImageKind::pnm) return std::nullopt;
  const std::optional<ImageSize> size = image_size(file);
  if (!size || ends_early(file, kind)) {
    return ImageProblem{"truncated",
                        fmt::format("the {} ends early, after {} bytes", image_kind_name(kind), file.size())};
  }
  if (size->width == 0 || size->height == 0) {
    return ImageProblem{"zero_pixels", fmt::format("the header says {} x {} pixels", size->width, size->height)};
  }
  return std::nullopt;
}

}  // namespace shardkit
