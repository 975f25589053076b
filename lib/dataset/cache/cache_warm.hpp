#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

struct CacheWarmOptions {
  std::string folder;
  std::optional<std::uint64_t> memory;

  void describe(FieldList& v);
};

struct CacheWarmResult {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t files_warmed = 0;
  std::uint64_t bytes_warmed = 0;
  std::uint64_t bytes_read = 0;
  double seconds = 0;
  double bytes_per_second = 0;
  std::optional<double> residency_before_ratio;
  std::optional<double> residency_after_ratio;

  void describe(FieldList& v);
};

/// Reads staged files into the page cache, those of the most recently used folder first, whole files only, until all
/// are cached or the next does not fit in the memory budget: `shardctl cache warm`. Changes nothing on the disk. Does
/// not read files that are already cached. Throws the errors of cache_folders().
CacheWarmResult cache_warm(const CacheWarmOptions& options, Context& context);

}  // namespace shardkit::dataset
