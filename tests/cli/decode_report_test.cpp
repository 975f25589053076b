#include <string>

#include <doctest/doctest.h>

#include "bench/decode/decode.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;
using namespace shardkit::cli;

namespace {

DecodeResult of_two_threads() {
  DecodeResult result;
  result.threads = 2;
  result.images = 2000;
  result.decoded = 2000;
  result.decode_seconds = 1.6;
  result.samples_per_second = 1234.4;
  result.samples_per_second_per_core = 640;
  result.mix.mean_megapixels = 0.22;
  result.steady = true;
  return result;
}

std::string first_line(const DecodeResult& result) {
  const std::string report = report_text(answer_decode(result), false);
  return report.substr(0, report.find(" (1.00 s)\n"));
}

bool says(const DecodeResult& result, const std::string& line) {
  return report_text(answer_decode(result), false).find(line) != std::string::npos;
}

}  // namespace

TEST_CASE("decoding's first line is how fast, on what, and what was decoded") {
  DecodeResult result = of_two_threads();
  CHECK(first_line(result) == "1,234 images/s on 2 threads, 640/s per core; whole images of 0.22 megapixels");
  CHECK(says(result, "  steady   yes\n"));
  CHECK(report_text(answer_decode(result), true).starts_with("\x1b[1m1,234 images/s"));
  result.crop = 224;
  result.augment.emplace().samples_per_second = 9000;
  CHECK(first_line(result).ends_with("; random crops to 224 pixels of 0.22 megapixels; augmenting alone 9,000/s"));
}

TEST_CASE("one thread and one image are in the singular, and what failed stands in the first line") {
  DecodeResult result = of_two_threads();
  result.threads = 1;
  result.samples_per_second = 1.2;
  result.samples_per_second_per_core = 1.3;
  result.decoded = 1985;
  result.failures.total = 15;
  result.failures.truncated = 12;
  result.failures.other_format = 3;
  CHECK(first_line(result) ==
        "1 image/s on 1 thread, 1/s per core; whole images of 0.22 megapixels; 15 of 2,000 images left out: 12 "
        "truncated, 3 of other formats");
  CHECK(says(result, "  decoded  1,985 of 2,000 images"));
}

TEST_CASE("a GPU that decoded is named in place of cores") {
  DecodeResult result = of_two_threads();
  result.samples_per_second_per_core.reset();
  result.nvjpeg.emplace();
  result.nvjpeg->name = "H200";
  CHECK(first_line(result) == "1,234 images/s on GPU 0 (H200) by nvJPEG; whole images of 0.22 megapixels");
}

TEST_CASE("where nobody can tell whether the rate was steady the report says why") {
  DecodeResult result = of_two_threads();
  result.steady.reset();
  result.decode_seconds = 0.003;
  result.augment.emplace().augment_seconds = 0.25;
  CHECK(says(result, "only 3 ms were measured"));
  CHECK(says(result, "only 0.25 s were measured"));
  result.decode_seconds = 3;
  CHECK(says(result, "  steady   unknown, each pass over the data took less than 1 s\n"));
  result.steady = false;
  CHECK(says(result, "  steady   no\n"));
}
