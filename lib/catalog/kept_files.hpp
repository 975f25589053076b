#pragma once

#include <string>

#include "catalog/image_source.hpp"

namespace shardkit::catalog {

/// The command that converts `folder`, an address of the source or of a folder in it, with the options `words`, checked
/// against its listing: it gets a --sidecar for each kind of files that lie beside images, and --metadata for COCO about
/// them. What it leaves out nevertheless is counted behind it. `labeled`: its folders are classes.
std::string command_that_keeps(const SourceFolder& source, const std::string& folder, std::string words, bool labeled);

}  // namespace shardkit::catalog
