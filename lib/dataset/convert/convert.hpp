#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/sharding_job.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "dataset/sharding/split.hpp"
#include "io/file_system.hpp"

namespace shardkit::dataset {

struct ConvertOptions : SplitOptions, WriteOptions {
  std::string source;
  std::string target;
  ShardingOptions sharding;
  std::string plan;

  void describe(FieldVisitor& v);
};

struct ConvertResult : WrittenSets {
  std::uint64_t skipped = 0;
  std::uint64_t kept_bad = 0;
  std::uint64_t resized = 0;
  std::uint64_t resized_at_lower_quality = 0;
  std::string manifest;
  std::string plan_hash;
  std::vector<SkippedFile> skipped_files;

  void describe(FieldVisitor& v);
};

/// ImageFolder tree to WebDataset shards, indexes and manifest: `shardctl convert`. The same call after a kill goes on
/// where it was; what it writes does not depend on threads, parts or machine.
ConvertResult convert(const ConvertOptions& options, Context& ctx);

/// The same over a given file system, for tests.
ConvertResult convert_on(io::FileSystem& files, const ConvertOptions& options, Context& ctx);

}  // namespace shardkit::dataset
