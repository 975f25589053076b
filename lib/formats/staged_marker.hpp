#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.hpp"

/// `.shardkit/staged.json`: says that a folder holds a whole, checked copy (docs/formats.md, "Staged marker",
/// version 1). It is published last, so that an interrupted copy never looks finished.
namespace shardkit {

struct StagedMarker {
  std::string source;       ///< where the files came from
  std::string verified;     ///< "checksum": against a manifest; "size": not at all beyond that
  Hash128 manifest;         ///< XXH3-128 of manifest.json; without one, of the list of names, sizes and versions
  std::uint64_t files = 0;  ///< that the folder holds by now
  std::uint64_t bytes = 0;
  std::vector<std::string> subsets;  ///< what of the set is whole, as "ranks 0-3 of 8 by webdataset"; empty: all of it
  bool operator==(const StagedMarker&) const = default;
};

/// The file's text: JSON, indent 1, newline at the end.
std::string write_staged_marker(const StagedMarker& marker);

/// Parses `text`. Throws Error{corrupt} for anything but a marker of this version. `path` is for messages.
StagedMarker read_staged_marker(std::string_view text, const std::string& path);

}  // namespace shardkit
