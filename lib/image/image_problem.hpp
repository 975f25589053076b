#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"

/// Whether a file is the image that its name promises, without decoding a pixel. Every function accepts any bytes and
/// is thread-safe.
namespace shardkit::image {

/// Faults of an image that its header and its end show.
enum class ImageFlaw {
  empty,           ///< the file is empty
  not_an_image,    ///< the first bytes are not those of a known kind
  other_format,    ///< of another kind than its name
  truncated,       ///< the bytes end early
  no_end,          ///< a JPEG or PNG without its end: cut off, unless all its rows exist, which decoding shows
  after_end,       ///< bytes follow the image; readers ignore them
  corrupt_header,  ///< a segment contradicts the format
  zero_pixels,     ///< width or height is 0
  too_large,       ///< more pixels than readers open
  unsupported,     ///< of a kind that readers do not open
};
constexpr auto enum_names(ImageFlaw) {
  return std::to_array<std::string_view>({"empty", "not_an_image", "other_format", "truncated", "no_end", "after_end",
                                          "corrupt_header", "zero_pixels", "too_large", "unsupported"});
}

/// Why a file is not the image that its name promises.
struct ImageProblem {
  ImageFlaw flaw = ImageFlaw::empty;
  /// One line without the file's name.
  std::string text;
};

/// Checks the first and the last bytes of a whole file. `extension` is the file name's, with or without its dot, in any
/// case; its kind is compared with the kind found, but an extension without a kind matches all. A JPEG, PNG or WebP
/// that ends where its format says costs a few comparisons. Only without the end marker of a JPEG at its place, the
/// header is parsed and the marker is searched for, from the end. The others are followed by their offsets
/// (image/image_structure.hpp).
std::optional<ImageProblem> ends_problem(Bytes file, std::string_view extension);

/// Checks the header, too. Empty if nothing is wrong; decoding may find more.
std::optional<ImageProblem> header_problem(Bytes file, std::string_view extension);

}  // namespace shardkit::image
