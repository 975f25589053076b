#include "dataset/bucket/output_location.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/bucket/store_files.hpp"
#include "formats/manifest.hpp"
#include "io/file_system.hpp"
#include "net/store_opener.hpp"

namespace shardkit::dataset {

namespace {

/// Throws Error{usage} for an address that verbs which read would take for something else: a pattern, a file, a list.
void refuse_unreadable(const std::string& target) {
  const std::string key = target.substr(std::min(target.find("//") + 2, target.size()));
  const bool is_file_name = key.ends_with(".tar") || key.ends_with(".txt") || key.ends_with(".json");
  if (!is_file_name && key.find_first_of("*?[]{}#%") == std::string::npos && key.find("//") == std::string::npos)
    return;
  throw usage_error(
      "'{}' could not be read as a folder of shards; choose a prefix without // and *?[]{{}}#%, which does not end in "
      ".tar, .txt or .json",
      without_secrets(target));
}

void refuse_state_folder(const std::string& target) {
  const std::filesystem::path path(target);
  if (std::ranges::find(path, std::filesystem::path(formats::kStateFolder)) == path.end()) return;
  throw usage_error("'{}' is in {}, which is reserved for shardctl; choose another folder", without_secrets(target),
                    formats::kStateFolder);
}

}  // namespace

OutputLocation open_output_location(const std::string& target, const catalog::StoreAccess& access, Context& context) {
  refuse_state_folder(target);
  if (!catalog::is_address(target)) return {io::posix_file_system(), target};
  std::string address = target;
  while (address.ends_with("//")) address.pop_back();
  refuse_unreadable(address.substr(0, address.find_last_not_of('/') + 1));
  net::StoreOpener opener(access.store_options(context));
  auto files = std::make_unique<StoreFiles>(opener.open_to_write(address, context.stop_token()), context.stop_token());
  std::string folder = files->location();
  return {std::move(files), std::move(folder)};
}

}  // namespace shardkit::dataset
