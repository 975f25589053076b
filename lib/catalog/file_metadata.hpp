#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"

/// Asking a source for its files' metadata: what a tree and a list have in common.
namespace shardkit::catalog {

/// Calls `work` for each index below `count`, on as many threads as listing or asking a slow source takes. Rethrows
/// its first exception; throws Error{cancelled} on a stop.
void for_each_waiting(std::size_t count, unsigned cores, Context& ctx, const std::function<void(std::size_t)>& work);

/// Reads size and time of every file of a scan, many at a time. Files that cannot be read leave it and become problems,
/// but for members that are only `maybe` there: those just leave. Throws Error for a source that fails.
void read_metadata(const SourceFolder& source, ImageFolderScan& scan, unsigned cores, Context& ctx);

/// Takes images out of a scan, with their other files.
void drop_images(ImageFolderScan& scan, const std::function<bool(const ScannedClass&, const ScannedFile&)>& judge);

/// Takes those images out of a scan, with their other files, of which `judge` says what is wrong; they become problems.
using FileJudge = std::function<std::optional<Error>(const ScannedClass&, const ScannedFile&)>;
void leave_out(ImageFolderScan& scan, const FileJudge& judge);

}  // namespace shardkit::catalog
