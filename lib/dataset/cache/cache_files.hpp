#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "staging/stage_journal.hpp"
#include "staging/staged_folder.hpp"

/// What the verbs of `shardctl cache` share.
namespace shardkit::dataset {

/// A file that a journal names.
struct CacheFile {
  std::string folder;
  std::string name;  ///< relative to it
  staging::StagedFile staged;

  std::string path() const;
};

/// The staged folders of the cache, or the one, at `folder`. Throws Error{not_found} when there is no such folder,
/// Error{unsupported} when it lies on a network file system.
std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& ctx);

/// The files of staged folders, of unreadable ones none, in the folders' order, then by name. About 200 bytes of memory
/// each.
std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders);

/// Bytes in the page cache, of some files.
struct Residency {
  std::uint64_t bytes = 0;  ///< sizes of these files on the disk
  std::uint64_t cached = 0;
  bool known = true;  ///< false: the system does not tell this user

  /// Empty when not known or when there are no bytes.
  std::optional<double> ratio() const;
  Residency& operator+=(const Residency& more);
};

/// Of one file; of one that is not there nothing, of one that may not be read nothing is known.
Residency residency_of(const CacheFile& file);
/// Of all; throws Error{cancelled}.
Residency residency_of(const std::vector<CacheFile>& files, Context& ctx);

}  // namespace shardkit::dataset
