#include "dataset/checks/apart.hpp"

#include <filesystem>
#include <optional>
#include <system_error>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "formats/manifest.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

/// The folder that an operand names, with a slash at its end and without links; empty if it names files.
std::optional<std::string> folder_of(const std::string& operand) {
  const bool is_manifest = fs::path(operand).filename() == formats::kManifestName;
  const std::string folder = is_manifest ? io::parent_folder(operand) : operand;
  if (catalog::is_address(folder)) return io::join_path(folder, "");
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) return std::nullopt;
  return (fs::canonical(folder, unknown) / "").string();
}

}  // namespace

void require_apart(const std::string& target, const std::vector<std::string>& sources, std::string_view role) {
  const std::string to =
      catalog::is_address(target) ? io::join_path(target, "") : (resolved_path(target) / "").string();
  for (const std::string& source : sources) {
    const auto from = folder_of(source);
    if (!from) continue;
    if (to == *from)
      throw Error(ErrorCode::usage, At{target}, "'{}' is both {} and target; choose another folder", target, role);
    if (to.starts_with(*from)) {
      throw Error(ErrorCode::usage, At{target}, "the target '{}' is inside the {} '{}'; choose a folder outside of it",
                  target, role, source);
    }
    if (from->starts_with(to)) {
      throw Error(ErrorCode::usage, At{target}, "the {} '{}' is inside the target '{}'; choose another folder", role,
                  source, target);
    }
  }
}

}  // namespace shardkit::dataset
