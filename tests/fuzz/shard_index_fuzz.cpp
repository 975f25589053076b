// A shard index is read in full, or refused as corrupt or of another version.

#include "formats/shard_index.hpp"
#include "fuzz/fuzz.hpp"

using namespace shardkit;
using namespace shardkit::formats;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemorySource source(fuzz::bytes_of(data, size));
  fuzz::may_fail_with({ErrorCode::corrupt, ErrorCode::unsupported}, [&] { read_shard_summary(source, "fuzz"); });
  fuzz::may_fail_with({ErrorCode::corrupt, ErrorCode::unsupported}, [&] {
    std::uint64_t samples = 0;
    ShardIndexVisitor visitor;
    visitor.sample = [&](IndexSample&&) { ++samples; };
    fuzz::promise(read_shard_index(source, "fuzz", visitor).samples == samples);
  });
  return 0;
}
