#pragma once

#include <memory>
#include <string>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "io/output_files.hpp"

namespace shardkit::dataset {

/// A folder for outputs, and the files in which it is.
struct OutputLocation {
  std::unique_ptr<io::OutputFiles> files;
  std::string folder;  ///< a local path as given, or the address of a prefix
};

/// Throws Error{usage} for an address that verbs which read would take for something else: a pattern, a file, a list;
/// and for a path in .shardkit.
void require_readable_prefix(const std::string& target);

/// Opens `target`, a local folder or s3://bucket/prefix; sends nothing yet. `context` outlives the result. Throws
/// Error{usage} for an address that cannot be written to, and like require_readable_prefix().
OutputLocation open_output_location(const std::string& target, const catalog::StoreAccess& access, Context& context);

}  // namespace shardkit::dataset
