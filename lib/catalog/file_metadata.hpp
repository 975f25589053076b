#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"

/// Reads the metadata of a source's files, for trees and lists.
namespace shardkit::catalog {

/// Calls `work` for each index below `count`, on as many threads as a slow source requires. Rethrows its first
/// exception; throws Error{cancelled} on a stop.
void for_each_waiting(std::size_t count, unsigned cores, Context& ctx, const std::function<void(std::size_t)>& work);

/// Reads size and time of every file of a scan, many in parallel. Files that cannot be read are removed and become
/// problems, except for members that are only `maybe` there: those are just removed. Throws Error for a failing source.
void read_metadata(const SourceFolder& source, ImageFolderScan& scan, unsigned cores, Context& ctx);

/// Removes images from a scan, with their other files.
void drop_images(ImageFolderScan& scan, const std::function<bool(const ScannedClass&, const ScannedFile&)>& judge);

/// Removes images for which `judge` reports a fault from a scan, with their other files; they become problems.
using FileJudge = std::function<std::optional<Error>(const ScannedClass&, const ScannedFile&)>;
void leave_out(ImageFolderScan& scan, const FileJudge& judge);

}  // namespace shardkit::catalog
