// A plan is read, every sample of every shard, or refused as corrupt.

#include "formats/plan_file.hpp"
#include "fuzz/fuzz.hpp"

using namespace shardkit;
using namespace shardkit::formats;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemorySource source(fuzz::bytes_of(data, size));
  fuzz::may_fail_with({ErrorCode::corrupt, ErrorCode::unsupported}, [&] {
    const PlanReader plan(source, "fuzz");
    for (std::size_t shard = 0; shard < plan.shards().size(); ++shard) {
      auto samples = plan.read_shard(shard);
      PlannedSample sample;
      while (samples.next(sample)) sample_key(plan.head(), sample);
    }
    plan.check_bytes();
  });
  return 0;
}
