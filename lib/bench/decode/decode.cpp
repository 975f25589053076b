#include "bench/decode/decode.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "bench/decode/decode_measurement.hpp"
#include "bench/decode/decode_options.hpp"
#include "bench/decode/device_decode.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/prng.hpp"
#include "gpu/devices.hpp"
#include "image/jpeg_decoder.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kUsualCrop = 224;

using Clock = std::chrono::steady_clock;

/// Decodes the images of a store in turn, again and again.
class DecodeWork {
 public:
  DecodeWork(const JpegStore& store, const DecodeBenchOptions& options, Context& context)
      : store_(store), options_(options), context_(context), failures_(store.size()) {}

  /// Decodes until every image was done once and `min_seconds` are over, or `most_seconds` are; each thread one at
  /// least.
  Timing run(unsigned threads, std::vector<DecodeTally>& tallies) {
    next_.store(0, std::memory_order_relaxed);
    context_.progress().start("decoding");  // no total: images come again until the time is over
    tallies.assign(threads, {});
    return timed_run(
        threads, [&](unsigned thread, const std::stop_token& stop) { decode_images(thread, tallies[thread], stop); },
        context_.progress().items, context_.stop_token());
  }

  DecodeFailures failures() const;
  /// Images of the last run that had their turn.
  std::uint64_t tried() const { return std::min<std::uint64_t>(next_.load(std::memory_order_relaxed), store_.size()); }

 private:
  void decode_images(unsigned thread, DecodeTally& tally, const std::stop_token& stop) {
    JpegDecoder decoder({.scale_divisor = static_cast<unsigned>(options_.scale)});
    Prng prng(options_.seed + thread);
    // From here on, where the clock runs already: what was set before would be over too early.
    const Clock::time_point earliest_end = moment_in(options_.min_seconds);
    const auto latest_end = options_.most_seconds ? moment_in(*options_.most_seconds) : Clock::time_point::max();
    for (bool first = true; !stop.stop_requested(); first = false) {
      if (!first && Clock::now() >= latest_end) return;
      const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= store_.size() && Clock::now() >= earliest_end) return;
      const std::size_t index = turn % store_.size();
      const Decoded decoded = decode_image(decoder, prng, store_.image(index));
      if (decoded.failure != DecodeFailure::none) failures_[index].store(decoded.failure, std::memory_order_relaxed);
      if (!decoded.has_pixels()) continue;
      tally.add(store_, index);
      context_.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  }

  Decoded decode_image(JpegDecoder& decoder, Prng& prng, Bytes jpeg) const {
    if (!options_.crop) return decoder.decode(jpeg);
    return decoder.decode_random_crop(jpeg, prng, static_cast<std::uint32_t>(*options_.crop));
  }

  const JpegStore& store_;
  const DecodeBenchOptions& options_;
  Context& context_;
  std::vector<std::atomic<DecodeFailure>> failures_;  ///< by image
  std::atomic<std::uint64_t> next_{0};
};

DecodeFailures DecodeWork::failures() const {
  DecodeFailures counts;
  for (const auto& failure : failures_) counts.add(failure.load(std::memory_order_relaxed));
  return counts;
}

/// 1, 2, 4, ... and `threads` last; only that without --scaling.
std::vector<unsigned> thread_counts(unsigned threads, bool scaling) {
  std::vector<unsigned> counts;
  for (unsigned count = 1; scaling && count < threads; count *= 2) counts.push_back(count);
  counts.push_back(threads);
  return counts;
}

void add_scaling(DecodeResult& result) {
  for (ScalingRow& row : result.scaling) {
    row.speedup = row.samples_per_second / result.scaling.front().samples_per_second;
    row.efficiency_ratio = row.speedup / static_cast<double>(row.threads);
  }
}

AugmentSettings augment_settings(const DecodeBenchOptions& options, std::uint64_t threads) {
  return {options.dtype,
          options.layout,
          static_cast<std::uint32_t>(options.crop.value_or(kUsualCrop)),
          static_cast<unsigned>(threads),
          options.min_seconds,
          options.seed};
}

/// Only crops are of one size, as a batch wants them.
DecodeBenchOptions with_crop(DecodeBenchOptions options) {
  if (options.augment != Augmentation::none && !options.crop) options.crop = kUsualCrop;
  return options;
}

DecodeResult decode_by_backend(const DecodeBenchOptions& options, Context& context) {
  if (options.backend == DecodeBackend::cpu) return decode(options, find_input(options.paths, context), context);
  const auto devices = open_devices();
  const DecodeMachine machine{lent(devices), open_jpeg_decoder};
  return decode_on_device(options, find_input(options.paths, context), machine, context);
}

}  // namespace

/// Of those that were decoded more than once none failed.
std::uint64_t DecodeResult::tried() const { return std::min(images, decoded + failures.total); }

DecodeResult decode(const DecodeBenchOptions& options, Context& context) {
  check_decode_options(options, decode_threads(options));  // a slip is told before what the machine lacks
  DecodeResult result = decode_by_backend(options, context);
  warn_of_failures(result.failures, result.tried(), context);
  if (!result.nvjpeg) warn_of_shared_cores(result, static_cast<double>(usable_threads()), context);
  return result;
}

DecodeResult decode(const DecodeBenchOptions& given, const InputSet& input, Context& context) {
  const std::uint64_t threads = decode_threads(given);
  check_decode_options(given, threads);
  const DecodeBenchOptions options = with_crop(given);
  const bool augments = options.augment != Augmentation::none;
  if (augments) check_augment(augment_settings(options, threads));
  const JpegStore store(input, options.samples, usable_memory() / 4, context);
  DecodeWork work(store, options, context);
  DecodeResult result = result_of(store);
  result.crop = options.crop;
  result.scale = options.scale;
  for (const unsigned count : thread_counts(static_cast<unsigned>(threads), options.scaling)) {
    std::vector<DecodeTally> tallies;
    const Timing timing = work.run(count, tallies);
    context.throw_if_stopped();
    result.threads = count;
    add_measurement(timing, tallies, result);
    if (options.scaling) result.scaling.push_back({count, result.samples_per_second});
  }
  add_scaling(result);
  add_failures(work.failures(), work.tried(), input, result);
  if (augments) result.augment = measure_augment(store, augment_settings(options, threads), context);
  return result;
}

}  // namespace shardkit
