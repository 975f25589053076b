#include "bench/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::string_view kPrefix = ".shardkit-checkpoint-";

std::string checked(const std::string& parent) {
  std::error_code error;
  if (std::filesystem::is_directory(parent, error)) return parent;
  if (error && error != std::errc::no_such_file_or_directory) throw system_error(error.value(), "look at", parent);
  throw Error(ErrorCode::not_found,
              fmt::format("'{}' is not a folder; make it on the disk that is to be measured", parent), parent);
}

}  // namespace

CheckpointFolder::CheckpointFolder(FileSystem& files, const std::string& parent)
    : files_(files), path_(join_path(checked(parent), std::string(kPrefix) + "XXXXXX")) {
  if (::mkdtemp(path_.data()) == nullptr) throw system_error(errno, "make a folder in", parent);
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;  // nothing more can be done about it
  std::filesystem::remove_all(path_, ignored);
}

std::string CheckpointFolder::partial(std::uint64_t rank) const {
  return join_path(path_, fmt::format(".rank-{:05}.partial", rank));
}

std::string CheckpointFolder::whole(std::uint64_t rank) const {
  return join_path(path_, fmt::format("rank-{:05}.ckpt", rank));
}

void CheckpointFolder::publish(std::uint64_t ranks) {
  for (std::uint64_t rank = 0; rank < ranks; ++rank) files_.rename(partial(rank), whole(rank));
  files_.sync_directory(path_);
}

void CheckpointFolder::clear() {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) files_.remove(entry.path());
  files_.sync_all(File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path_));
}

std::vector<std::string> checkpoint_folders(const std::string& parent) {
  std::vector<std::string> folders;
  const auto options = std::filesystem::directory_options::skip_permission_denied;  // writing there will say it better
  for (const auto& entry : std::filesystem::directory_iterator(checked(parent), options)) {
    if (entry.path().filename().string().starts_with(kPrefix) && entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace shardkit
