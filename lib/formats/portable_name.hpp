#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Names of the portable profile (docs/explain/formats.md, "Names"), which every reader of tar shards supports. ASCII
/// letters, digits, '_' and '-'; no dot except the one before the extension; at most 100 bytes in total.
namespace shardkit::formats {

/// Longest key of an image without a mark. Leaves space for a collision mark, a dot and an extension.
inline constexpr std::size_t kLongestKey = 80;

/// One path component, reversibly: every byte except A-Z a-z 0-9 _ - becomes '~' and two hexadecimal digits; a leading
/// "__", which readers treat as metadata, becomes "~5F_"; an empty component becomes "~".
std::string portable_component(std::string_view component);

/// What distinguishes images with equal keys: the extension, or where that is not enough a hash of the path.
enum class KeyMark : std::uint8_t { none, extension, hash };

/// The key of the image at `path` (relative to the source), from portable components: class, folders below it, and name
/// without extension. A key over kLongestKey is cut and ends with '-' and 16 hexadecimal digits of XXH3-64 over `path`,
/// which is also in the index. A key that leaves too little space in a tar for `longest_field`, the bytes of the
/// sample's longest extension, is cut too, unless less than 30 bytes would be left.
std::string image_key(std::string_view class_name, std::string_view path, KeyMark mark = KeyMark::none,
                      std::size_t longest_field = 0);

/// The key of the image at `path` without marks, as it was before image_key() or portable_moved_key() cut it; `key` if
/// it was not cut, or `path` does not tell how it was.
std::string uncut_key(std::string_view key, std::string_view path);

/// `key` with '-' and 8 hexadecimal digits (the upper half of XXH3-64 over `path`): for samples whose keys are equal.
std::string marked_key(const std::string& key, std::string_view path);

/// The key of a sample from a shard of another program, in at most `longest` bytes (30 or more). Keys that readers
/// support are unchanged, including '~'; a leading "./" or "/" is removed; other keys are mapped component by
/// component. A key that is still too long is cut and ends with '-' and 16 hexadecimal digits of XXH3-64 over `key`.
std::string portable_moved_key(std::string_view key, std::size_t longest);

/// The extension of a member from a shard of another program: lower case, "seg.png" keeps its dot, "jpeg" stays.
std::string portable_moved_extension(std::string_view extension);

/// The extension of a member: lower case, "jpeg" as "jpg", other bytes as in portable_component(). Dots stay, except
/// for one leading '.', '_' or '-': "_mask.PNG" is "mask.png".
std::string portable_extension(std::string_view extension);

/// A file name split at its last dot: "a.b.JPEG" is "a.b" and "JPEG"; without a dot the extension is empty.
struct NameParts {
  std::string_view stem;
  std::string_view extension;
};
NameParts split_extension(std::string_view file_name);

}  // namespace shardkit::formats
