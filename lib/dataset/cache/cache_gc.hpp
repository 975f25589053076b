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

  void describe(FieldVisitor& v);
};

struct CacheGcFolder {
  std::string path;
  std::string source;
  std::uint64_t bytes = 0;
  std::string last_used;

  void describe(FieldVisitor& v);
};

struct CacheGcResult {
  bool dry_run = false;
  std::vector<CacheGcFolder> evicted;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t leftover_files = 0;
  std::uint64_t leftover_bytes = 0;
  std::uint64_t folders_left = 0;
  std::uint64_t bytes_left = 0;

  void describe(FieldVisitor& v);
};

/// Removes what nobody will use from a node cache, then evicts staged folders, those used least recently first, down to
/// the limit: `shardctl cache gc`. Never one that is leased, at work or of no known source. Throws Error{no_space} when
/// the limit cannot be reached, after all was evicted that could be; and what cache_folders() throws.
CacheGcResult cache_gc(const CacheGcOptions& options, Context& ctx);

}  // namespace shardkit::dataset
