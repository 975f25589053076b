#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/scanned_source.hpp"
#include "dataset/sharding/shard_cutter.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// The samples of a source that a plan is for, and the plan's other entries.
struct PlanScope {
  const SampleOrder* samples = nullptr;             ///< their numbers, ascending; null: all
  std::map<std::string, std::string> options = {};  ///< kept in the plan with those of ShardingOptions
  std::optional<std::uint64_t> parts = {};          ///< kept in the plan
  /// Whether the plan lists the files that the scan left out. Of the plans of one split only one does.
  bool lists_skipped = true;
  std::optional<formats::PlanStart> start = {};  ///< of a plan that adds to a set
};

/// What a plan contains.
struct PlanSummary {
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::uint64_t classes = 0;
  std::uint64_t skipped = 0;
  std::uint64_t ignored_files = 0;
  std::uint64_t largest_shard_bytes = 0;
  ClassesPerShard classes_per_shard;
  ShuffleBuffer shuffle_buffer;
  std::string plan_hash;

  void describe(FieldList& v);
};

/// A plan's entry for one file of a scan with its side-cars; its class is not set.
formats::PlannedSample planned_sample(const ScannedSource& source, std::size_t class_index, std::size_t file);

/// Name, options, parts and start of the plan of a scope, from the options that are given; nothing of the scan.
formats::PlanHead planned_head(const ShardingOptions& options, const PlanScope& scope);

/// Turns a scan into a plan on `sink`: labels, order, shard boundaries. The bytes depend only on names, sizes and
/// options. Throws the errors of cut_shards(), and Error{not_found} if there is no sample.
PlanSummary write_plan(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope,
                       ByteSink& sink, Context& context);

}  // namespace shardkit::dataset
