#pragma once

#include <string>

#include "catalog/image_source.hpp"

namespace shardkit::catalog {

/// The command that converts the images of `folder` of a source without labels, checked against its listing: it has a
/// --sidecar for each kind of files that lie beside images, and --metadata for COCO about them. What it leaves out
/// nevertheless is counted behind it.
std::string unlabeled_command(const SourceFolder& source, const std::string& folder);

}  // namespace shardkit::catalog
