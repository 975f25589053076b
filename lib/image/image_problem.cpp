#include "image/image_problem.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "core/units.hpp"
#include "formats/image_names.hpp"
#include "image/byte_order.hpp"
#include "image/image_header.hpp"
#include "image/image_structure.hpp"

namespace shardkit::image {
namespace {

std::optional<ImageProblem> magic_problem(Bytes file, std::string_view extension) {
  if (file.empty()) return ImageProblem{ImageFlaw::empty, "the file is empty"};
  const ImageKind kind = sniff_image(file);
  const ImageKind promised = formats::promised_kind(extension);
  if (kind == ImageKind::unknown) {
    return ImageProblem{ImageFlaw::not_an_image, "the first bytes are not those of an image"};
  }
  if (promised == ImageKind::unknown || promised == kind) return std::nullopt;
  if (kind == ImageKind::heic || kind == ImageKind::jpeg_xl) {
    return ImageProblem{ImageFlaw::unsupported, fmt::format("the content is {}, which Pillow and torchvision do not "
                                                            "read: convert it to JPEG, or name it as it is",
                                                            enum_name(kind))};
  }
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

/// The fault that the chunk IEND shows: its name and 4 bytes of checksum (PNG 1.2, 11.2.5).
std::optional<ImageProblem> png_problem(Bytes file) {
  const std::size_t at = as_text(file).rfind("IEND");
  if (at != std::string_view::npos && at + 8 <= file.size()) return after_end(ImageKind::png, at + 8, file.size());
  return ImageProblem{ImageFlaw::no_end, fmt::format("the PNG ends after {} bytes without its end chunk", file.size())};
}

/// The size in the RIFF header, which may or may not count the padding to an even size.
std::uint64_t webp_end(Bytes file) {
  const std::uint64_t end = std::uint64_t{little_u32(file, 4)} + 8;
  return file.size() == end + end % 2 ? file.size() : end;
}

/// The fault of an image of a known kind that its end shows, or its offsets if it has some.
std::optional<ImageProblem> end_problem(Bytes file, ImageKind kind) {
  switch (kind) {
    case ImageKind::jpeg:
      return as_text(file).ends_with("\xFF\xD9") ? std::nullopt : jpeg_problem(file);
    case ImageKind::png:
      return png_problem(file);
    case ImageKind::webp:
      return webp_end(file) > file.size() ? truncated(kind, file.size()) : after_end(kind, webp_end(file), file.size());
    case ImageKind::bmp:
      return bmp_problem(file);
    case ImageKind::pnm:
      return pnm_problem(file);
    case ImageKind::tiff:
      return tiff_problem(file);
    case ImageKind::gif:
      return gif_problem(file);
    default:
      return std::nullopt;
  }
}

/// The fault that the size in the header shows.
std::optional<ImageProblem> size_problem(Bytes file, ImageKind kind) {
  if (kind != ImageKind::jpeg && kind != ImageKind::png && kind != ImageKind::webp) return std::nullopt;
  const std::optional<ImageSize> size = image_size(file);
  if (!size) return truncated(kind, file.size());
  return sides_problem(size->width, size->height);
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
