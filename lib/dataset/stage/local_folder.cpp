#include "dataset/stage/local_folder.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "core/error.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {

void check_local(const std::string& folder) {
  std::filesystem::path there = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(there)) there = there.parent_path();
  const system::StorageFacts facts = system::storage_of(std::filesystem::canonical(there));
  if (facts.storage_class != system::StorageClass::network) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' lies on a network file system ({}); choose a folder on a disk of this machine", folder,
                          facts.file_system),
              folder);
}

}  // namespace shardkit::dataset
