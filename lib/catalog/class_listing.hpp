#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/image_folder.hpp"

/// The reading of folders behind scan_image_folder().
namespace shardkit {

/// Names of the class folders of `root`, sorted bytewise. Adds other files to `ignored`; warns of hidden folders.
/// Throws Error{not_found} when there is none.
std::vector<std::string> list_class_folders(const std::string& root, Context& ctx, std::uint64_t& ignored);

/// Fills names, files and side-cars (those of ScanOptions) of one class, all but sizes and times, and returns how many
/// files it ignored.
std::uint64_t list_class(const std::string& root, ScannedClass& item, const std::vector<std::string>& sidecars,
                         Context& ctx);

}  // namespace shardkit
