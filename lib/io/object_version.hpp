#pragma once

#include "io/object_source.hpp"

namespace shardkit::io {

/// Whether the source gives another version with each answer about an object of this size: then a version shows
/// nothing. Throws the errors of the source.
bool is_version_random(ObjectSource& source, const ObjectInfo& object);

}  // namespace shardkit::io
