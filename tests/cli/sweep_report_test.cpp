#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "bench/sweep/sweep.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

SweepResult swept() {
  SweepResult result;
  result.text = "reading: 2.85 GB/s with 4 threads and block size 64KiB";
  result.point_seconds = 0.31;
  for (const std::uint64_t threads : {1, 2, 4, 8, 16}) {
    result.rows.push_back({SweepParameter::threads, threads, 2.84e9, {}, {}, {}, threads == 4});
  }
  result.rows.push_back({SweepParameter::block, 65536, 3.1e9, {}, {}, {}, true});
  result.rows.push_back({SweepParameter::workers, 2, {}, 1713.0, {}, {}, true});
  return result;
}

}  // namespace

TEST_CASE("each parameter of a sweep is a line, broken between its values") {
  const std::string report = report_text(answer_sweep(swept()), false);
  CHECK(contains(report,
                 "\n\nthreads   1: 2.84 GB/s, 2: 2.84 GB/s, 4: 2.84 GB/s <- knee, 8: 2.84 GB/s,\n"
                 "          16: 2.84 GB/s\n"
                 "block     64KiB: 3.10 GB/s <- knee\n"
                 "workers   2: 1,713/s <- knee\n"
                 "0.31 s per point\n"));
}

TEST_CASE("the code of a loader is printed where it fits a terminal") {
  SweepResult result = swept();
  LoaderAdvice& loader = result.loader.emplace();
  loader.line = "loader = DataLoader(dataset, num_workers=2)";
  loader.code = "dataset = photos\n" + loader.line + "\n";
  loader.workers = 2;
  loader.samples_per_second = 560;
  CHECK(contains(report_text(answer_sweep(result), false), "\n\ndataset = photos\nloader = DataLoader("));
  for (int i = 0; i < 12; ++i) loader.code += "# a line\n";
  loader.shards_needed = 8;
  loader.wanted_workers = 2;
  loader.reshard = "shardctl reshard data OUT --shards 8";
  const std::string report = shardkit::cli::answer_text(answer_sweep(result), 1, {.columns = 80});
  CHECK(contains(report, "\n\nDataLoader  num_workers=2: about 560 samples/s; code with --verbose\n"));
  CHECK(contains(report, "hint: 2 loader processes per GPU need 8 shards: `shardctl reshard data OUT\n"));
  CHECK(std::ranges::count(report, '\n') <= 22);
}
