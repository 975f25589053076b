#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/sharding/shard_cutter.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// Turns a scan into a plan: labels, order, shard boundaries. What it writes is a function of names, sizes and options
/// alone. Used once: construct, write().
class Planner {
 public:
  /// All but `ctx` outlive the planner.
  Planner(const ScannedSource& source, const ShardingOptions& options, const PlanScope& scope, Context& ctx);

  PlanResult write(ByteSink& sink);

 private:
  /// One sample in 8 bytes: its class (below 2^24) and its place in that class (below 2^32: see ScannedClass).
  struct Place {
    std::uint64_t packed;
    Place(std::uint64_t class_index, std::uint64_t file) : packed(class_index << 32U | file) {}
    std::size_t class_index() const { return packed >> 32U; }
    std::size_t file() const { return packed & 0xffffffffU; }
  };

  void make_order();
  ShardCut cut();
  void make_head();
  formats::PlannedSample sample_at(const Place& place) const;
  std::string json_of(const std::string& path) const;
  void note_sample() const;
  std::uint64_t bytes_at(const Place& place) const;
  void count_classes(std::uint64_t classes, std::size_t shard, std::size_t shards);
  void summarise(const std::vector<formats::PlanShard>& shards);

  const ScannedSource& source_;
  const catalog::ImageFolderScan& scan_;
  const ShardingOptions& options_;
  const PlanScope& scope_;
  Context& ctx_;
  formats::PlanHead head_;
  std::vector<std::size_t> label_digits_;
  std::vector<Place> order_;
  PlanResult result_;
};

}  // namespace shardkit::dataset
