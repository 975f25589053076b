#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/file_system.hpp"

/// Names that are one file on some file systems: SMB, exFAT and folders of ext4 with casefold ignore case, macOS also
/// the form of Unicode.
namespace shardkit::staging {

/// Two of `names`, relative paths, that `files` takes for one in `folder`, which exists; empty if there are none. Only
/// for names that look alike it asks the file system, by files that it makes in `folder` and removes.
std::optional<std::pair<std::string, std::string>> find_meeting_names(io::FileSystem& files, const std::string& folder,
                                                                      const std::vector<std::string>& names);

}  // namespace shardkit::staging
