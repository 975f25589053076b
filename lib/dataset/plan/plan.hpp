#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

struct PlanOptions {
  std::string source;
  std::string output;
  ShardingOptions sharding;
  std::optional<std::uint64_t> parts;
  std::optional<std::uint64_t> world;
  std::optional<std::uint64_t> workers;
  std::optional<std::uint64_t> threads;

  void describe(FieldVisitor& v);
};

/// How many classes one shard holds: few mean that a loader sees long runs of one label.
struct ClassesPerShard {
  std::uint64_t min = 0;
  double mean = 0;
  std::uint64_t max = 0;

  void describe(FieldVisitor& v);
};

struct PlanResult {
  std::string output;
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::uint64_t classes = 0;
  std::uint64_t skipped = 0;
  std::uint64_t ignored_files = 0;
  std::uint64_t largest_shard_bytes = 0;
  ClassesPerShard classes_per_shard;
  std::uint64_t shuffle_buffer_samples = 0;
  std::uint64_t shuffle_buffer_bytes = 0;
  std::string plan_hash;
  double scan_seconds = 0;

  void describe(FieldVisitor& v);
};

/// Scans a tree and writes the plan of its shards: `shardctl plan`.
PlanResult plan(const PlanOptions& options, Context& ctx);

/// Which samples of a source a plan is for, and what it says besides.
struct PlanScope {
  const SampleOrder* samples = nullptr;             ///< their numbers, ascending; null: all
  std::map<std::string, std::string> options = {};  ///< kept in the plan with those of ShardingOptions
  std::optional<std::uint64_t> parts = {};          ///< kept in the plan
  /// Whether the plan lists the files that the scan left out. Of the plans of one split only one does.
  bool lists_skipped = true;
};

/// Writes the plan of a source to `sink`; the result lacks `output`. Throws what cut_shards() throws, and
/// Error{not_found} when there is no sample.
PlanResult write_plan(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope,
                      ByteSink& sink, Context& ctx);

}  // namespace shardkit::dataset
