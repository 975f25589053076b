#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/tar_scanner.hpp"

namespace shardkit::test {

/// What a tar holds, all of it.
struct ScannedTar {
  std::vector<formats::TarEntry> entries;
  std::vector<std::string> contents;  ///< by entry; empty when it has none or is cut
  std::vector<formats::TarFinding> findings;

  std::vector<formats::TarFault> faults() const;
  bool has(formats::TarFault fault) const;
};

/// Reads by seeking past content with TarScanner, then content by its offsets.
ScannedTar scan(std::string_view archive);
/// Feeds the archive in pieces of `piece` bytes.
ScannedTar feed(std::string_view archive, std::size_t piece, formats::AfterEnd after_end = formats::AfterEnd::stop);
/// True when both ways of reading found the same members, offsets, contents and faults.
bool same(const ScannedTar& a, const ScannedTar& b);

}  // namespace shardkit::test
