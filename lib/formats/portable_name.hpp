#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The portable profile's names (docs/formats.md, "Names"): what every reader of tar shards carries unharmed. ASCII
/// letters, digits, '_' and '-'; no dot but the one before the extension; at most 100 bytes in all.
namespace shardkit::formats {

/// Longest key of an image without a mark. Leaves room for a collision mark, a dot and an extension.
inline constexpr std::size_t kLongestKey = 80;

/// One path component, reversibly: every byte but A-Z a-z 0-9 _ - becomes '~' and two hexadecimal digits; a leading
/// "__", which readers take for metadata, becomes "~5F_"; an empty component becomes "~".
std::string portable_component(std::string_view component);

/// How the key of an image is made from its path (docs/formats.md, "Names"). `flat` leaves out the folders below the
/// class: version 0.1.0 did so always, and in trees without such folders both rules agree.
enum class KeyRule : std::uint8_t { flat, nested };
/// What tells apart the keys of images that would be equal: the extension (nested keys only), or a hash of the path.
enum class KeyMark : std::uint8_t { none, hash, extension };

/// The key of the image at `path` (relative to the source), of portable components. Flat: class and name without the
/// last dot and extension; without a class the image's folder stands in its place, or nothing where there is none.
/// Nested: class, folders below it, and name without extension. A key over kLongestKey is cut and ends with '-' and 16
/// hexadecimal digits of XXH3-64 over `path`, which also stands in the index. So is one that leaves no room in a tar
/// for `longest_field`, the bytes of the sample's longest extension, unless less than 30 bytes would be left.
std::string image_key(KeyRule rule, std::string_view class_name, std::string_view path, KeyMark mark = KeyMark::none,
                      std::size_t longest_field = 0);

/// `key` with '-' and 8 hexadecimal digits (the upper half of XXH3-64 over `path`): for samples whose keys are equal.
std::string marked_key(const std::string& key, std::string_view path);

/// The key that a sample of another program's shard gets, in at most `longest` bytes (30 or more). What readers carry
/// stays as it is, '~' too; a leading "./" or "/" goes; other keys are mapped component by component. A key that is
/// still too long is cut and ends with '-' and 16 hexadecimal digits of XXH3-64 over `key`.
std::string portable_moved_key(std::string_view key, std::size_t longest);

/// The extension that a member of another program's shard gets: lower case, "seg.png" keeps its dot, "jpeg" stays.
std::string portable_moved_extension(std::string_view extension);

/// The extension a member gets: lower case, "jpeg" as "jpg", other bytes as in portable_component(). Dots stay, but one
/// '.', '_' or '-' in front: "_mask.PNG" is "mask.png".
std::string portable_extension(std::string_view extension);

/// A file name split at its last dot: "a.b.JPEG" is "a.b" and "JPEG"; without a dot the extension is empty.
struct NameParts {
  std::string_view stem;
  std::string_view extension;
};
NameParts split_extension(std::string_view file_name);

}  // namespace shardkit::formats
