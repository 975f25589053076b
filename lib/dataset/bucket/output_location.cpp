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

void require_readable_prefix(const std::string& target) {
  refuse_state_folder(target);
  if (!catalog::is_address(target)) return;
  const std::size_t end = target.find_last_not_of('/');
  refuse_unreadable(target.substr(0, end + 1));
}

OutputLocation open_output_location(const std::string& target, const catalog::StoreAccess& access, Context& context) {
  require_readable_prefix(target);
  if (!catalog::is_address(target)) return {io::posix_file_system(), target};
  std::string address = target;
  while (address.ends_with("//")) address.pop_back();
  net::StoreOpener opener(access.store_options(context));
  auto files = std::make_unique<StoreFiles>(opener.open_to_write(address, context.stop_token()), context);
  std::string folder = files->location();
  return {std::move(files), std::move(folder)};
}

}  // namespace shardkit::dataset
