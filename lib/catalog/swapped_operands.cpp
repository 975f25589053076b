#include "catalog/swapped_operands.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "catalog/object_location.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {
namespace {

constexpr int kDeepest = 3;              ///< source/set/class/image
constexpr std::size_t kMostSeen = 1000;  ///< entries of folders, which may have millions

Content content_by_name(const std::string& name) {
  if (is_image_name(name)) return Content::images;
  return is_tar_name(name) ? Content::shards : Content::other;
}

}  // namespace

Content content_of(const std::string& path) {
  if (is_address(path)) return Content::other;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return Content::nothing;
  if (!fs::is_directory(status)) return content_by_name(path);
  constexpr auto kOptions =
      fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator at(path, kOptions, error);
  Content found = Content::nothing;
  for (std::size_t seen = 0; !error && at != fs::end(at) && seen < kMostSeen; at.increment(error), ++seen) {
    std::error_code ignored;
    const bool is_folder = at->is_directory(ignored);
    if (is_folder && (at.depth() == kDeepest || at->path().filename().string().starts_with('.')))
      at.disable_recursion_pending();
    if (is_folder) continue;
    found = content_by_name(at->path().filename());
    if (found != Content::other) return found;
  }
  return error ? Content::other : found;
}

void refuse_swapped(const std::string& source, const std::string& target, Content wanted, const std::string& swapped) {
  if (content_of(source) != Content::nothing || content_of(target) != wanted) return;
  throw_swapped(source,
                fmt::format("'{}' does not exist or has no files, and '{}' contains {}", source, target,
                            wanted == Content::images ? "images" : "shards"),
                swapped);
}

void throw_swapped(const std::string& source, const std::string& reason, const std::string& swapped) {
  throw Error(ErrorCode::usage, At{source}, "{}: they look swapped. Nothing was written. In the other order: {}",
              reason, remedy::in_text(swapped));
}

}  // namespace shardkit::catalog
