#pragma once

#include <optional>
#include <string>

#include "catalog/image_folder.hpp"

/// The keys that convert gives the samples of a scan (docs/formats.md, "Names").
namespace shardkit::catalog {

/// The key of the sample that a file starts. To be called after choose_keys().
std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file);

/// Chooses how keys are made, and marks images whose keys would be equal. Flat keys where no image lies in a folder
/// below its class and no two are equal; else, or when `nested` says that a set has them, nested ones. Flat ones with
/// marks are those of version 0.1.0, for its sets: when `nested` is false. Throws Error{conflict} in the case, one in
/// four billion, that two marked keys are still equal.
void choose_keys(ImageFolderScan& scan, std::optional<bool> nested = std::nullopt);

}  // namespace shardkit::catalog
