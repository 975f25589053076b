#include "formats/index_kinds.hpp"

#include <algorithm>
#include <array>

#include "formats/image_names.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "formats/wids_index.hpp"

namespace shardkit::formats {

void IndexedShard::add(const IndexSample& sample) {
  ++samples;
  bool image = false;
  for (const IndexMember& member : sample.members) {
    if (!is_image_extension(member.extension)) continue;
    image = true;
    image_extensions.emplace(sample.spelling(member));
  }
  const bool label =
      std::ranges::any_of(sample.members, [&](const auto& member) { return sample.spelling(member) == "cls"; });
  if (!image || !label) ++unclassified;
}

std::span<const IndexKind> index_kinds() {
  static const std::array kinds{
      IndexKind{.name = "shardkit", .shard_file = shard_index_path, .set_files = {kManifestName}}, dali_index_kind(),
      wids_index_kind(), energon_index_kind()};
  return kinds;
}

bool is_set_file(std::string_view path) {
  const auto is_at = [&](const std::string& file) {
    return path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
  };
  return std::ranges::any_of(index_kinds(),
                             [&](const IndexKind& kind) { return std::ranges::any_of(kind.set_files, is_at); });
}

std::span<const IndexKind> reader_index_kinds() { return index_kinds().subspan(1); }

}  // namespace shardkit::formats
