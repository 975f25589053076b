#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "staging/stage_journal.hpp"
#include "staging/staged_folder.hpp"

/// What the verbs of `shardctl cache` share: each works over a node cache or one staged folder.
namespace shardkit::dataset {

/// The operand of the verbs that write to it.
inline constexpr Field kCacheFolder{"DIR", "a node cache, or one staged folder", Role::positional, kSharedOutput};

/// A file that a journal names.
struct CacheFile {
  std::string folder;
  std::string name;  ///< relative to it
  staging::StagedFile staged;

  std::string path() const;
};

/// The staged folders of the cache at `folder`, or that folder itself. Throws Error{not_found} if the folder does not
/// exist, Error{unsupported} if it is on a network file system.
std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& context);

/// The files of readable staged folders, in the folders' order, then by name. About 200 bytes of memory each.
std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders);

/// Bytes of some files that are in the page cache.
struct Residency {
  std::uint64_t bytes = 0;  ///< sizes of these files on the disk
  std::uint64_t cached = 0;
  bool known = true;  ///< false: the system does not tell this user

  /// Empty if unknown or if there are no bytes.
  std::optional<double> ratio() const;
  Residency& operator+=(const Residency& more);
};

/// Of one file: nothing for a missing file, unknown for a file that may not be read.
Residency residency_of(const CacheFile& file);
/// Of all; throws Error{cancelled}.
Residency residency_of(const std::vector<CacheFile>& files, Context& context);

}  // namespace shardkit::dataset
