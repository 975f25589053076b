#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"

namespace shardkit {

/// Paths of the files below `folder` at any depth, sorted. Links are followed, as loaders do, but not back into a
/// folder that leads to them; hidden files and folders are passed over. Raises the progress's items. Throws
/// Error{not_found, denied, io} for a folder that cannot be listed, Error{cancelled} on a stop.
std::vector<std::string> list_files(const std::string& folder, Context& context);

}  // namespace shardkit
