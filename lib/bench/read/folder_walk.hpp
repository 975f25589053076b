#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"
#include "stats/latency_histogram.hpp"

namespace shardkit {

/// What listing folders found and took.
struct FolderListing {
  std::vector<std::string> files;  ///< sorted; hidden ones are left out
  LatencyHistogram latency;        ///< of each folder: opened, all of it read, closed
};

/// Lists `roots` and what is below them, one folder after another, as torchvision's walk does; nothing is asked of the
/// files but what the folders say. Links are followed, but not back into a folder that leads to them. Throws
/// Error{not_found, denied, io} for a folder that cannot be listed, Error{cancelled} on a stop.
FolderListing walk_folders(const std::vector<std::string>& roots, Context& context);

}  // namespace shardkit
