#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// What `iobench read --mode imagefolder` adds to the result of a read.
namespace shardkit::bench {

/// State of names and attributes (dentries, inodes) when they were read.
enum class MetadataCache { as_found, cold, warm };
constexpr auto enum_names(MetadataCache) { return std::to_array<std::string_view>({"as_found", "cold", "warm"}); }

/// One kind of call.
struct FolderOperation {
  std::string name;  ///< list (a folder), open, stat, read (a whole file), close
  std::uint64_t count = 0;
  double per_second = 0;  ///< count x threads / time of all of them: the rate of threads that do nothing else
  double p50 = 0;
  double p99 = 0;
  double time_ratio = 0;  ///< share of the time of an epoch; 0 for list

  void describe(FieldList& v);
};

struct FolderReport {
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  double list_seconds = 0;
  double files_per_second = 0;
  double metadata_operations_per_second = 0;
  double epoch_seconds = 0;
  double epoch_hours = 0;
  MetadataCache metadata_cache = MetadataCache::as_found;
  std::vector<FolderOperation> operations;

  void describe(FieldList& v);
};

}  // namespace shardkit::bench
