#include "catalog/set_folders.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "catalog/class_listing.hpp"
#include "core/error.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::array<std::string_view, 6> kSetNames = {"dev", "test", "train", "val", "valid", "validation"};
constexpr std::string_view kTrain = "train";

bool is_set_name(std::string_view name) { return std::ranges::find(kSetNames, name) != kSetNames.end(); }

bool holds_images(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (is_image_name(entry->path().filename().native()) && !entry->is_directory(error)) return true;
    if (error) return false;  // the scan will tell
  }
  return false;
}

/// The class folders of a set; none where it holds files alone.
std::vector<std::string> class_folders(const std::string& folder) {
  Context quiet;  // the scan warns of what is hidden
  std::uint64_t ignored = 0;
  try {
    return list_class_folders(folder, quiet, ignored);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    throw;
  }
}

void warn_of_absent_classes(const std::string& set, const std::vector<std::string>& here,
                            const std::vector<std::string>& all, Context& ctx) {
  std::vector<std::string> absent;
  std::ranges::set_difference(all, here, std::back_inserter(absent));
  if (absent.empty()) return;
  ctx.warn("set_lacks_classes",
           fmt::format("'{}' lacks {} of the {} class folders, the first being '{}': labels are those of all sets "
                       "together, where torchvision's ImageFolder would number the classes of this one anew",
                       set, absent.size(), all.size(), absent.front()));
}

}  // namespace

SetFolders find_set_folders(const std::string& root, Context& ctx) {
  static_cast<void>(File::open_read(root, O_DIRECTORY));  // throws where there is no such folder
  const std::vector<std::string> folders = class_folders(root);
  const std::string train = join_path(root, std::string(kTrain));
  if (folders.size() < 2 || !std::ranges::all_of(folders, is_set_name) ||
      !std::ranges::binary_search(folders, kTrain) || class_folders(train).empty() || holds_images(train)) {
    return {};
  }
  SetFolders sets;
  std::vector<std::vector<std::string>> classes;
  for (const std::string& name : folders) {
    std::vector<std::string> here = class_folders(join_path(root, name));
    if (here.empty()) {
      ctx.warn(
          "set_without_classes",
          fmt::format("'{}' left out: it has no class folders, so its images have no labels", join_path(root, name)));
      continue;
    }
    std::vector<std::string> all;
    std::ranges::set_union(sets.classes, here, std::back_inserter(all));
    sets.classes = std::move(all);
    sets.names.push_back(name);
    classes.push_back(std::move(here));
  }
  for (std::size_t i = 0; i < sets.names.size(); ++i) {
    warn_of_absent_classes(join_path(root, sets.names[i]), classes[i], sets.classes, ctx);
  }
  return sets;
}

}  // namespace shardkit
