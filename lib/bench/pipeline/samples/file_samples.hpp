#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "bench/pipeline/samples/sample_source.hpp"

namespace shardkit {

/// Image files in an order drawn for each epoch, as a map-style data set with a random sampler reads them.
class FileSamples final : public SampleSource {
 public:
  FileSamples(const InputSet& input, const SourceOrder& order);

  std::string_view kind() const override { return "files"; }
  std::size_t most_readers() const override { return paths_.size(); }
  void begin_epoch(std::uint64_t epoch) override;
  void read(SampleOutlet& outlet, const std::stop_token& stop) override;

 private:
  std::vector<std::string> paths_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> order_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace shardkit
