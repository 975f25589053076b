#include "image/image_problem.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "image/byte_order.hpp"
#include "image/image_header.hpp"

namespace shardkit::image {
namespace {

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

std::optional<ImageProblem> magic_problem(Bytes file, std::string_view extension) {
  if (file.empty()) return ImageProblem{ImageFlaw::empty, "the file is empty"};
  const ImageKind kind = sniff_image(file);
  const ImageKind promised = promised_kind(extension);
  if (kind == ImageKind::unknown) {
    return ImageProblem{ImageFlaw::not_an_image, "the first bytes are not those of an image"};
  }
  if (promised == ImageKind::unknown || promised == kind) return std::nullopt;
  return ImageProblem{ImageFlaw::other_format,
                      fmt::format("the name says {} but the content is {}", enum_name(promised), enum_name(kind))};
}

ImageProblem truncated(ImageKind kind, std::size_t bytes) {
  return {ImageFlaw::truncated, fmt::format("the {} ends early, after {} bytes", enum_name(kind), bytes)};
}

std::optional<ImageProblem> after_end(ImageKind kind, std::uint64_t end, std::size_t bytes) {
  if (bytes == end) return std::nullopt;
  return ImageProblem{ImageFlaw::after_end, fmt::format("{} {} the end of the {}", format_count(bytes - end, "byte"),
                                                        bytes - end == 1 ? "follows" : "follow", enum_name(kind))};
}

/// The fault in the structure of a JPEG, found by a walk over its markers and its end-of-image marker.
std::optional<ImageProblem> jpeg_problem(Bytes file) {
  const JpegHeaderResult read = read_jpeg_header(file);
  if (read.status == JpegHeaderStatus::truncated) {
    return ImageProblem{ImageFlaw::truncated,
                        fmt::format("the JPEG ends after {} bytes, within its header", file.size())};
  }
  if (read.status != JpegHeaderStatus::ok) {
    return ImageProblem{ImageFlaw::corrupt_header, "the JPEG's header is damaged before its first scan"};
  }
  const std::optional<std::size_t> end = end_of_image(file, read.header.scan_offset);
  if (end) return after_end(ImageKind::jpeg, *end, file.size());
  // Of a progressive one scans may be missing; Pillow waits for the marker and refuses it.
  return ImageProblem{read.header.progressive ? ImageFlaw::truncated : ImageFlaw::no_end,
                      fmt::format("the JPEG ends after {} bytes without an end-of-image marker", file.size())};
}

/// Where the file ends by its format, for the functions below; empty if that is unknown. More than the file has if it
/// is cut off.
using End = std::optional<std::uint64_t>;

/// For a file that ends before it says where.
constexpr std::uint64_t kFurther = UINT64_MAX;

/// Sides up to here do not overflow the computations below, and no reader opens larger ones.
constexpr std::uint64_t kLongestSide = 1U << 28U;

/// The chunk IEND: its name and 4 bytes of checksum (PNG 1.2, 11.2.5).
End png_end(Bytes file) {
  const std::size_t at = as_text(file).rfind("IEND");
  return at == std::string_view::npos ? kFurther : at + 8;
}

/// The size in the RIFF header, which may or may not count the padding to an even size.
End webp_end(Bytes file) {
  const std::uint64_t end = std::uint64_t{little_u32(file, 4)} + 8;
  return file.size() == end + end % 2 ? file.size() : end;
}

/// The rows of a BMP without compression, from the offset in its header, each padded to 4 bytes.
End bmp_end(Bytes file) {
  if (file.size() < 18) return kFurther;
  if (little_u32(file, 14) < 40) return std::nullopt;  // OS/2
  if (file.size() < 34) return kFurther;
  constexpr std::uint32_t kBitFields = 3;
  const std::optional<ImageSize> size = image_size(file);
  const std::uint32_t bits = little_u16(file, 28);
  const std::uint32_t compression = little_u32(file, 30);
  const bool has_rows = bits <= 32 && (compression == 0 || compression == kBitFields);
  if (!has_rows || !size || size->width > kLongestSide || size->height > kLongestSide) return std::nullopt;
  const std::uint64_t row = (std::uint64_t{size->width} * bits + 31) / 32 * 4;
  return little_u32(file, 10) + row * size->height;
}

/// The next number of a Netpbm header, after white space and comments; empty if there is none.
std::optional<std::uint64_t> pnm_number(std::string_view& text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && (is_space(text.front()) || text.front() == '#')) {
    text.remove_prefix(text.front() == '#' ? std::min(text.find('\n'), text.size()) : 1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > kLongestSide) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The rows of a binary PNM (P4 to P6) after its header and one white space.
End pnm_end(Bytes file) {
  const unsigned kind = byte_at(file, 1) - '0';
  if (kind < 4) return std::nullopt;
  std::string_view text = as_text(file).substr(2);
  std::array<std::uint64_t, 3> numbers{0, 0, 1};  // width, height, largest value
  for (std::size_t i = 0; i < (kind == 4 ? 2 : 3); ++i) {
    const std::optional<std::uint64_t> number = pnm_number(text);
    if (!number) return text.empty() ? End(kFurther) : std::nullopt;
    numbers.at(i) = *number;
  }
  const auto [width, height, largest] = numbers;
  const std::uint64_t samples = (kind == 6 ? 3 : 1) * (largest > 255 ? 2 : 1);
  const std::uint64_t row = kind == 4 ? (width + 7) / 8 : width * samples;
  return file.size() - text.size() + 1 + row * height;
}

/// The first directory of a TIFF, which usually follows the rows. BigTIFF has its offset elsewhere.
End tiff_end(Bytes file) {
  if (file.size() < 8) return kFurther;
  const bool little = byte_at(file, 0) == 'I';
  const auto u16 = [&](std::size_t at) { return little ? little_u16(file, at) : big_u16(file, at); };
  if (u16(2) != 42) return std::nullopt;
  const std::uint64_t directory = little ? little_u32(file, 4) : big_u32(file, 4);
  if (directory + 2 > file.size()) return kFurther;
  return directory + 2 + std::uint64_t{12} * u16(static_cast<std::size_t>(directory)) + 4;
}

End declared_end(Bytes file, ImageKind kind) {
  switch (kind) {
    case ImageKind::png:
      return png_end(file);
    case ImageKind::webp:
      return webp_end(file);
    case ImageKind::bmp:
      return bmp_end(file);
    case ImageKind::pnm:
      return pnm_end(file);
    case ImageKind::tiff:
      return tiff_end(file);
    default:
      return std::nullopt;
  }
}

/// The fault of an image of a known kind that its end shows.
std::optional<ImageProblem> end_problem(Bytes file, ImageKind kind) {
  if (kind == ImageKind::jpeg) return as_text(file).ends_with("\xFF\xD9") ? std::nullopt : jpeg_problem(file);
  const End end = declared_end(file, kind);
  if (!end) return std::nullopt;
  if (*end > file.size()) return truncated(kind, file.size());
  // The others may have padding, further images, or rows after the directory.
  return kind == ImageKind::png || kind == ImageKind::webp ? after_end(kind, *end, file.size()) : std::nullopt;
}

/// The fault that the size in the header shows.
std::optional<ImageProblem> size_problem(Bytes file, ImageKind kind) {
  if (kind == ImageKind::tiff || kind == ImageKind::pnm) return std::nullopt;
  const std::optional<ImageSize> size = image_size(file);
  if (!size) return truncated(kind, file.size());
  if (size->width > 0 && size->height > 0) return std::nullopt;
  return ImageProblem{ImageFlaw::zero_pixels, fmt::format("the header says {} x {} pixels", size->width, size->height)};
}

}  // namespace

std::optional<ImageProblem> ends_problem(Bytes file, std::string_view extension) {
  if (auto problem = magic_problem(file, extension)) return problem;
  return end_problem(file, sniff_image(file));
}

std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension) {
  if (auto problem = magic_problem(file, extension)) return problem;
  const ImageKind kind = sniff_image(file);
  auto end = kind == ImageKind::jpeg ? jpeg_problem(file) : end_problem(file, kind);
  if (end && end->flaw != ImageFlaw::after_end) return end;
  auto size = size_problem(file, kind);
  return size ? size : end;
}

}  // namespace shardkit::image
