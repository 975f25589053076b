#include <algorithm>
#include <span>
#include <utility>

#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace shardkit::catalog {

std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file) {
  std::size_t longest = 0;
  if (!owner.members.empty()) {
    const auto image = static_cast<std::uint32_t>(&file - owner.files.data());
    for (const ScannedMember& member : std::ranges::equal_range(owner.members, image, {}, &ScannedMember::image)) {
      longest = std::max(longest, scan.member_name(member).size());
    }
  }
  return formats::image_key(owner.name, owner.path_of(file), file.mark, longest);
}

namespace {

using KeyedFiles = std::span<const std::pair<std::uint64_t, std::uint32_t>>;  ///< hash of the key, number of the file

/// Gives images of one key their next mark; throws Error{conflict} if they have the last one.
void mark_group(ScannedClass& owner, KeyedFiles files) {
  auto least = formats::KeyMark::hash;
  for (const auto& [hash, number] : files) least = std::min(least, owner.files[number].mark);
  if (least == formats::KeyMark::hash) {
    const std::string one = owner.path_of(owner.files[files[0].second]);
    const std::string other = owner.path_of(owner.files[files[1].second]);
    throw Error(ErrorCode::conflict, At{one}, "'{}' and '{}' get the same key; rename one of them", one, other);
  }
  for (const auto& [hash, number] : files) {
    ScannedFile& file = owner.files[number];
    if (file.mark == least) file.mark = static_cast<formats::KeyMark>(static_cast<int>(least) + 1);
  }
}

/// Marks the images of one class until all keys differ. Of images that share a
/// key, those with the smallest mark get another, so that "a.jpg.png" is marked if its key equals that of "a.jpg" after
/// the mark for "a.png". The loop is needed because a mark may make a key equal to one that was unique before.
void mark_equal_keys(const ImageFolderScan& scan, ScannedClass& owner) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  for (bool again = true; again;) {
    keys.clear();
    for (std::uint32_t i = 0; i < owner.files.size(); ++i) {
      keys.emplace_back(xxh3_64(as_bytes(image_key(scan, owner, owner.files[i]))), i);
    }
    std::ranges::sort(keys);
    again = false;
    for (auto begin = keys.begin(); begin != keys.end();) {
      const auto end = std::find_if(begin, keys.end(), [&](const auto& key) { return key.first != begin->first; });
      if (end - begin > 1) {
        mark_group(owner, {begin, end});
        again = true;
      }
      begin = end;
    }
  }
}

}  // namespace

void choose_keys(ImageFolderScan& scan) {
  // Keys of different classes differ in their first part, so each class is checked separately.
  for (ScannedClass& owner : scan.classes) mark_equal_keys(scan, owner);
}

}  // namespace shardkit::catalog
