#pragma once

#include <functional>
#include <optional>
#include <string>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"
#include "sync/adaptive_workers.hpp"

/// Asking a source for its files' metadata: what a tree and a list have in common.
namespace shardkit::catalog {

/// How many threads may list folders or ask for metadata at a time.
sync::InFlightLimits scan_limits(unsigned cores);

/// Reads size and time of every file of a scan, many at a time. Files that cannot be read leave it and become problems,
/// but for side-cars of a list that are not there: those just leave. Throws Error for a source that fails.
void read_metadata(const ImageSource& source, ImageFolderScan& scan, unsigned cores, Context& ctx);

/// Takes those images out of a scan, with their side-cars, of which `judge` says what is wrong; they become problems.
using FileJudge = std::function<std::optional<Error>(const ScannedClass&, const ScannedFile&)>;
void leave_out(ImageFolderScan& scan, const FileJudge& judge);

}  // namespace shardkit::catalog
