#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "catalog/operands.hpp"
#include "catalog/set_state.hpp"
#include "io/object_source.hpp"
#include "io/output_files.hpp"

/// Looks at a folder, whatever it lies on: lists it and passes the names to look().
namespace shardkit::catalog {

/// What is looked for.
struct LookFor {
  bool groups = false;  ///< also sets in the folders of a local folder: one more listing each, if it has no tar itself
  bool shards = false;  ///< also each listed shard on a web server, which cannot list
};

/// A folder that a command reads. Throws the errors of listing it; Error{not_found} for a local one that does not
/// exist.
SeenSet look_at(Inputs& inputs, const NamedInput& folder, LookFor wanted);

/// The same for a folder of a store of which Inputs::list() returned `objects`, at any depth.
SeenSet look_at(Inputs& inputs, const std::string& folder, const std::vector<io::ObjectInfo>& objects);

/// A folder of a source, of which all objects are `objects`, by name: "" or with a slash at its end.
SeenSet look_at(io::ObjectSource& source, const std::vector<io::ObjectInfo>& objects, const std::string& folder,
                const std::stop_token& stop);

/// A folder that a command writes to; one that does not exist is empty.
SeenSet look_at(io::OutputFiles& files, const std::string& folder);

}  // namespace shardkit::catalog
