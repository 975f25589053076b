#pragma once

#include <optional>
#include <string>

#include "catalog/image_folder.hpp"

/// The keys that convert gives the samples of a scan (docs/explain/formats.md, "Names").
namespace shardkit::catalog {

/// The key of the sample that a file starts. Requires choose_keys().
std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file);

/// Chooses how keys are made, and marks images whose keys would be equal. Keys are flat if no image is in a folder
/// below its class and no two are equal; otherwise, or if `nested` is true, nested. Flat ones with marks are those of
/// version 0.1.0, for its sets: if `nested` is false. Throws Error{conflict} if two marked keys are still equal, which
/// happens once in four billion cases.
void choose_keys(ImageFolderScan& scan, std::optional<bool> nested = std::nullopt);

}  // namespace shardkit::catalog
