#include "dataset/bucket/output_location.hpp"

#include <utility>

#include "catalog/object_location.hpp"
#include "dataset/bucket/store_files.hpp"
#include "io/file_system.hpp"
#include "net/store_opener.hpp"

namespace shardkit::dataset {

OutputLocation open_output_location(const std::string& target, const catalog::StoreAccess& access, Context& ctx) {
  if (!catalog::is_address(target)) return {io::posix_file_system(), target};
  net::StoreOpener opener(access.store_options(ctx));
  auto files = std::make_unique<StoreFiles>(opener.open_to_write(target, ctx.stop_token()), ctx.stop_token());
  std::string folder = files->location();
  return {std::move(files), std::move(folder)};
}

}  // namespace shardkit::dataset
