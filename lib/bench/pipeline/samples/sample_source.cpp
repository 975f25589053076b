#include "bench/pipeline/samples/sample_source.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bench/pipeline/samples/file_samples.hpp"
#include "bench/pipeline/samples/shard_samples.hpp"

namespace shardkit {
namespace {

class NullSource final : public SampleSource {
 public:
  std::string_view kind() const override { return "null"; }
  std::size_t most_readers() const override { return std::numeric_limits<std::size_t>::max(); }
  void begin_epoch(std::uint64_t /*epoch*/) override {}
  void read(SampleOutlet& outlet, const std::stop_token& stop) override {
    while (!stop.stop_requested() && outlet.give(outlet.buffer(0))) {
    }
  }
};

}  // namespace

std::unique_ptr<SampleSource> make_source(const InputSet& input, const SourceOrder& order, Context& context) {
  if (std::ranges::any_of(input.files, &InputFile::is_shard)) {
    return std::make_unique<ShardSamples>(input, order, context);
  }
  return std::make_unique<FileSamples>(input, order);
}

std::unique_ptr<SampleSource> null_source() { return std::make_unique<NullSource>(); }

}  // namespace shardkit
