#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/planner.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

struct PlanOptions {
  std::string source;
  std::string output;
  ShardingOptions sharding;
  std::optional<std::uint64_t> parts;
  std::optional<std::uint64_t> threads;

  void describe(FieldList& v);
};

struct PlanResult : PlanSummary {
  std::string output;
  double scan_seconds = 0;

  void describe(FieldList& v);
};

/// Scans a tree and writes the plan of its shards: `shardctl plan`.
PlanResult plan(const PlanOptions& options, Context& context);

}  // namespace shardkit::dataset
