#include "bench/decode/decode_measurement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {

DecodeResult result_of(const JpegStore& store) {
  DecodeResult result;
  result.images = store.size();
  result.mix = store.mix();
  result.samples_used = store.choice();
  return result;
}

void add_measurement(const Timing& timing, std::span<const DecodeTally> tallies, DecodeResult& result) {
  DecodeTally sum;
  for (const DecodeTally& tally : tallies) sum.add(tally);
  const auto images = static_cast<double>(sum.images);
  result.decoded = sum.images;
  result.decode_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.cpu_seconds_per_sample = sum.images > 0 ? timing.cpu_seconds / images : 0;
  result.samples_per_second = images / timing.seconds;
  result.samples_per_second_interval = rate_interval(timing, result.samples_per_second);
  result.steady = is_steady(timing);
  result.megapixels_per_second = static_cast<double>(sum.pixels) * 1e-6 / timing.seconds;
  result.bytes_per_second = static_cast<double>(sum.bytes) / timing.seconds;
  if (result.backend == DecodeBackend::nvjpeg || timing.cpu_seconds <= 0) return;
  result.samples_per_second_per_core = images / timing.cpu_seconds;
  result.cores_needed = cores_needed(*result.samples_per_second_per_core);
}

void add_failures(const DecodeFailures& failures, std::uint64_t tried, const InputSet& input, DecodeResult& result) {
  result.failures = failures;
  if (failures.total < tried) return;
  throw Error(
      ErrorCode::corrupt,
      fmt::format("not one of {} from {} can be decoded as a JPEG ({} of another format or empty); the first is "
                  "'{}': name JPEGs, or measure reading alone with `iobench read`",
                  format_count(tried, "image"), named_text(input), failures.not_jpeg,
                  result.samples_used.first.front()),
      first_named(input));
}

void warn_of_shared_cores(const DecodeResult& result, double cores, Context& context) {
  constexpr double kMostOfThem = 0.8;
  const double had = result.cpu_seconds / result.decode_seconds;
  const double expected = std::min(static_cast<double>(result.threads), cores);
  if (had >= kMostOfThem * expected) return;
  context.warn(
      "cores_shared",
      fmt::format("decoding had {:.1f} of {:.1f} cores: others use this machine, so its own rates are higher than "
                  "these; run again when it is idle",
                  had, expected));
}

}  // namespace shardkit
