#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/decode/decode.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;

namespace {

/// Whether decoding for a second with these threads and this processor time is reported as having shared `cores` with
/// others.
bool shared(std::uint64_t threads, double cpu_seconds, double cores) {
  DecodeResult result;
  result.threads = threads;
  result.decode_seconds = 1;
  result.cpu_seconds = cpu_seconds;
  Context context;
  warn_of_shared_cores(result, cores, context);
  return has_warning(context, "cores_shared");
}

}  // namespace

TEST_CASE("decoding that had less than four fifths of the cores its threads could use shared them with others") {
  CHECK(shared(2, 0.42, 2));
  CHECK(shared(2, 1.5, 2));
  CHECK_FALSE(shared(2, 1.7, 2));
  CHECK_FALSE(shared(1, 0.95, 2));    // one thread uses one core
  CHECK_FALSE(shared(8, 1.9, 2));     // and eight no more than there are
  CHECK_FALSE(shared(8, 0.48, 0.5));  // or than a limit allows
}
