#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct CacheGcOptions {
  std::string folder;
  std::optional<std::uint64_t> limit;
  bool dry_run = false;

  void describe(FieldList& v);
};

struct CacheGcFolder {
  std::string path;
  std::string source;
  std::uint64_t bytes = 0;
  std::string last_used;

  void describe(FieldList& v);
};

struct CacheGcResult {
  bool dry_run = false;
  std::vector<CacheGcFolder> evicted;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t leftover_files = 0;
  std::uint64_t leftover_bytes = 0;
  std::uint64_t folders_left = 0;
  std::uint64_t bytes_left = 0;

  void describe(FieldList& v);
};

/// Removes unusable files from a node cache, then evicts staged folders, least recently used first, until the limit is
/// met: `shardctl cache gc`. Never evicts a folder that is leased, being staged or of unknown source. Throws
/// Error{no_space} if the limit cannot be met after all possible evictions, and the errors of cache_folders().
CacheGcResult cache_gc(const CacheGcOptions& options, Context& context);

struct CacheRmOptions {
  std::string folder;

  void describe(FieldList& v);
};

/// Removes the staged files of a folder, also those of a killed stage: `shardctl cache rm`. Throws Error{not_found} for
/// a folder without any, Error{in_use} for one that is leased or at work, Error{conflict} for one without a journal.
CacheGcFolder cache_rm(const CacheRmOptions& options, Context& context);

}  // namespace shardkit::dataset
