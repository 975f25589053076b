#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/convert_job.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "dataset/sharding/split.hpp"
#include "io/file_system.hpp"

namespace shardkit::dataset {

struct ReshardOptions : SplitOptions, WriteOptions {
  std::vector<std::string> inputs;
  std::string target;
  ShardSizes sizes;
  std::optional<std::uint64_t> shuffle;
  bool sort = false;
  std::vector<std::string> classes;
  std::vector<std::string> keys;
  std::optional<std::string> sample;
  bool drop_bad = false;
  bool mark_duplicates = false;
  bool salvage = false;
  bool merge_classes = false;
  std::vector<std::string> rename;
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct ReshardResult : WrittenSets {
  std::uint64_t skipped = 0;
  std::uint64_t renamed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t inputs = 0;
  std::uint64_t input_samples = 0;
  std::uint64_t ignored_members = 0;
  std::uint64_t regrouped = 0;
  std::optional<std::uint64_t> lost_samples;
  std::optional<std::uint64_t> lost_bytes;
  std::optional<bool> lost_samples_known;
  std::vector<formats::IndexSkip> dropped_samples;

  void describe(FieldList& v);
};

/// The command that a user types for these options.
std::string command_of(const ReshardOptions& options);

/// Shards to other shards: `shardctl reshard`. Two passes: the first records where each sample is (32 bytes of memory
/// each, the rest on disk next to the output), the second copies. Resumes, refuses changed inputs and options, and
/// works in parts as convert does. The output does not depend on threads, parts or machine.
ReshardResult reshard(const ReshardOptions& options, Context& context);

/// The same with a given file system, for tests.
ReshardResult reshard_on(io::OutputFiles& files, const ReshardOptions& options, Context& context);

}  // namespace shardkit::dataset
