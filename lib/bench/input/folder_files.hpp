#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"

namespace shardkit {

/// Paths of the files below `folder` at any depth, sorted. Links are followed, as loaders do, but not back into a
/// folder that leads to them; hidden files and folders are passed over. Raises the progress's items. Throws
/// Error{not_found, denied, io} for a folder that cannot be listed, Error{cancelled} on a stop.
/// Error{unsupported} for /proc and /sys, which have no end.
std::vector<std::string> list_files(const std::string& folder, Context& context);

/// Throws Error{unsupported} when `folder` lies on a file system whose files the kernel makes up: their links lead
/// everywhere, and nothing of them is stored. Passes over what cannot be asked.
void refuse_made_up_files(const std::string& folder);

}  // namespace shardkit
