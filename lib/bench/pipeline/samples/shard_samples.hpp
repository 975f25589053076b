#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "bench/pipeline/samples/sample_source.hpp"
#include "io/read_engine.hpp"

namespace shardkit {

/// Shards, each streamed from start to end by one reader. What is wrong with one is warned of once; what of it can be
/// read is.
class ShardSamples final : public SampleSource {
 public:
  ShardSamples(const InputSet& input, const SourceOrder& order, Context& context);

  std::string_view kind() const override { return "shards"; }
  std::size_t most_readers() const override { return shards_.size(); }
  void begin_epoch(std::uint64_t epoch) override;
  void read(SampleOutlet& outlet, const std::stop_token& stop) override;

 private:
  void read_shard(std::uint32_t index, SampleOutlet& outlet, ReadLane& lane, const std::stop_token& stop, bool& wanted);

  std::vector<InputFile> shards_;
  SourceOrder order_;
  Context& context_;
  std::unique_ptr<ReadEngine> engine_;
  std::vector<std::uint32_t> turns_;
  std::vector<std::atomic<bool>> warned_;  ///< by shard
  std::atomic<std::size_t> next_{0};
};

}  // namespace shardkit
