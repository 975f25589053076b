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
  return formats::image_key(scan.keys, owner.name, owner.path_of(file), file.mark, longest);
}

namespace {

/// The next mark of an image that shares its key with others: the extension first where keys are nested.
formats::KeyMark next_mark(formats::KeyRule rule, formats::KeyMark mark) {
  const bool extension = rule == formats::KeyRule::nested && mark == formats::KeyMark::none;
  return extension ? formats::KeyMark::extension : formats::KeyMark::hash;
}

using KeyedFiles = std::span<const std::pair<std::uint64_t, std::uint32_t>>;  ///< hash of the key, number of the file

/// Gives images of one key their next mark; throws Error{conflict} if they have the last one.
bool mark_group(formats::KeyRule rule, ScannedClass& owner, KeyedFiles files) {
  formats::KeyMark least = formats::KeyMark::hash;
  for (const formats::KeyMark mark : {formats::KeyMark::extension, formats::KeyMark::none}) {
    if (std::ranges::any_of(files, [&](const auto& file) { return owner.files[file.second].mark == mark; }))
      least = mark;
  }
  if (least == formats::KeyMark::hash) {
    const std::string one = owner.path_of(owner.files[files[0].second]);
    const std::string other = owner.path_of(owner.files[files[1].second]);
    throw Error(ErrorCode::conflict, At{one}, "'{}' and '{}' get the same key; rename one of them", one, other);
  }
  for (const auto& [hash, number] : files) {
    ScannedFile& file = owner.files[number];
    if (file.mark == least) file.mark = next_mark(rule, file.mark);
  }
  return true;
}

/// Marks the images of one class until all keys differ; returns whether any mark was needed. Of images that share a
/// key, those with the smallest mark get another, so that "a.jpg.png" is marked if its key equals that of "a.jpg" after
/// the mark for "a.png". The loop is needed because a mark may make a key equal to one that was unique before.
bool mark_equal_keys(const ImageFolderScan& scan, ScannedClass& owner) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  bool marked = false;
  for (bool again = true; again;) {
    keys.clear();
    for (std::uint32_t i = 0; i < owner.files.size(); ++i) {
      keys.emplace_back(xxh3_64(as_bytes(image_key(scan, owner, owner.files[i]))), i);
    }
    std::ranges::sort(keys);
    again = false;
    for (auto begin = keys.begin(); begin != keys.end();) {
      const auto end = std::find_if(begin, keys.end(), [&](const auto& key) { return key.first != begin->first; });
      again = (end - begin > 1 && mark_group(scan.keys, owner, {begin, end})) || again;
      begin = end;
    }
    marked = marked || again;
  }
  return marked;
}

}  // namespace

void choose_keys(ImageFolderScan& scan, std::optional<bool> nested) {
  const auto in_folder = [](const ScannedClass& owner) {
    return std::ranges::any_of(
        owner.files, [&](const ScannedFile& file) { return owner.name_of(file).find('/') != std::string_view::npos; });
  };
  const bool wanted = nested.value_or(std::ranges::any_of(scan.classes, in_folder));
  scan.keys = wanted ? formats::KeyRule::nested : formats::KeyRule::flat;
  bool marked = false;
  // Keys of different classes differ in their first part, so each class is checked separately.
  for (ScannedClass& owner : scan.classes) marked = mark_equal_keys(scan, owner) || marked;
  if (!marked || nested || scan.keys == formats::KeyRule::nested) return;
  for (ScannedClass& owner : scan.classes) {
    for (ScannedFile& file : owner.files) file.mark = formats::KeyMark::none;
  }
  choose_keys(scan, true);
}

}  // namespace shardkit::catalog
