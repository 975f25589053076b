#pragma once

#include <string>
#include <string_view>

#include "catalog/image_source.hpp"

/// Names that look equal to people and are not equal to programs.
namespace shardkit::catalog {

/// Whether two different texts may be the same one in two normal forms of Unicode (NFC, as most systems write names,
/// and NFD, as macOS does): for each character that consists of several parts in one, the other has any single one.
bool looks_alike(std::string_view one, std::string_view other);

/// Equal for texts that differ only in the case of ASCII letters or look alike, and for some others.
std::string alike_key(std::string_view text);

/// The file of a source that a path, which is the name of none, may mean: with '/' for '\', or in another Unicode form.
/// Empty for none.
std::string similar_file(const SourceFolder& source, const std::string& path);

}  // namespace shardkit::catalog
