#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "bench/decode/decode.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "image/augment.hpp"
#include "image/jpeg_decoder.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kMostCrops = 256;
/// Enough that a tensor leaves the caches of a core before it is written again, as one of a real batch does.
constexpr std::uint64_t kMostSlots = 16;

std::uint32_t side_of(const DecodeBenchOptions& options) { return static_cast<std::uint32_t>(*options.crop); }

/// Decoded crops, one behind the other.
std::vector<std::uint8_t> decode_crops(const JpegStore& store, const DecodeBenchOptions& options, Context& context) {
  const std::size_t crop_bytes = tensor_bytes(side_of(options), 1);
  const std::size_t fit = std::max<std::size_t>(system::usable_memory() / 8 / crop_bytes, 1);
  const std::size_t wanted = std::min({store.size(), kMostCrops, fit});
  std::vector<std::uint8_t> crops;
  crops.reserve(wanted * crop_bytes);
  image::JpegDecoder decoder;
  Prng prng(options.seed);
  for (std::size_t i = 0; i < store.size() && crops.size() < wanted * crop_bytes; ++i) {
    context.throw_if_stopped();
    const image::Decoded decoded = decoder.decode_random_crop(store.image(i), prng, side_of(options));
    if (decoded.has_pixels()) crops.insert(crops.end(), decoded.pixels.bytes.begin(), decoded.pixels.bytes.end());
  }
  if (crops.empty()) throw Error(ErrorCode::corrupt, "no image can be decoded, so there is nothing to augment");
  return crops;
}

std::uint64_t sample_bytes_of(const DecodeBenchOptions& options) {
  return tensor_bytes(side_of(options), image::value_bytes(options.dtype));
}

/// Samples of the batch tensor that each thread has.
std::uint64_t slots_per_thread(const DecodeBenchOptions& options) {
  const std::uint64_t sample_bytes = sample_bytes_of(options);
  const std::uint64_t memory = system::usable_memory() / 4;
  const std::uint64_t slots = memory / *options.threads / sample_bytes;
  if (slots > 0) return std::min(slots, kMostSlots);
  throw Error(ErrorCode::no_space,
              fmt::format("tensors of {} for each of {} exceed the available {}; reduce --crop or --threads",
                          format_size(sample_bytes), format_count(*options.threads, "thread"), format_size(memory)));
}

/// Augments the crops repeatedly. Progress counts the samples.
Timing augment_crops(std::span<const std::uint8_t> crops, const DecodeBenchOptions& options, Context& context) {
  const std::uint32_t side = side_of(options);
  const std::size_t crop_bytes = tensor_bytes(side, 1);
  const std::uint64_t count = crops.size() / crop_bytes;
  const std::uint64_t sample_bytes = sample_bytes_of(options);
  const std::uint64_t slots = slots_per_thread(options);
  std::atomic<std::uint64_t> next{0};
  Progress& progress = context.progress();
  progress.start_for("augmenting", options.min_seconds, "images");
  const auto work = [&](unsigned thread, const std::stop_token& stop) {
    std::vector<std::byte> memory(slots * sample_bytes);
    const MutableBytes batch(memory);
    image::Augmenter augmenter(options.dtype);
    Prng prng(options.seed + thread);
    const auto earliest_end = moment_in(options.min_seconds);  // the clock runs already
    for (std::uint64_t slot = 0; !stop.stop_requested(); slot = (slot + 1) % slots) {
      const std::uint64_t turn = next.fetch_add(1, std::memory_order_relaxed);
      if (turn >= count && std::chrono::steady_clock::now() >= earliest_end) return;
      const auto crop = crops.subspan(turn % count * crop_bytes, crop_bytes);
      augmenter.augment({crop, side, side}, image::draw_flip(prng), batch.subspan(slot * sample_bytes, sample_bytes));
      progress.items.fetch_add(1, std::memory_order_relaxed);
    }
  };
  return timed_run(static_cast<unsigned>(*options.threads), work, progress.items, context.stop_token());
}

}  // namespace

void check_augment(const DecodeBenchOptions& options) { slots_per_thread(options); }

AugmentResult measure_augment(const JpegStore& store, const DecodeBenchOptions& options, Context& context) {
  context.progress().start("preparing crops");  // not decoding, whose rate is measured
  const std::vector<std::uint8_t> crops = decode_crops(store, options, context);
  const Timing timing = augment_crops(crops, options, context);
  context.throw_if_stopped();
  AugmentResult result;
  result.dtype = options.dtype;
  result.crops = crops.size() / tensor_bytes(side_of(options), 1);
  result.augmented = context.progress().items;
  const auto samples = static_cast<double>(result.augmented);
  result.augment_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.samples_per_second = samples / timing.seconds;
  result.samples_per_second_interval = rate_interval(timing, result.samples_per_second);
  result.steady = is_steady(timing);
  result.samples_per_second_per_core = timing.cpu_seconds > 0 ? samples / timing.cpu_seconds : 0;
  result.bytes_per_second = result.samples_per_second * static_cast<double>(sample_bytes_of(options));
  result.cores_needed = cores_needed(result.samples_per_second_per_core);
  return result;
}

void AugmentResult::describe(FieldList& v) {
  v.field({"dtype", "type of the tensor's values"}, dtype);
  v.field({"crops", Unit::count, "decoded crops in memory, augmented repeatedly"}, crops);
  v.field({"augmented", Unit::count, "samples written to batch tensors"}, augmented);
  v.field({"augment_seconds", Unit::seconds, "elapsed time"}, augment_seconds);
  v.field({"cpu_seconds", Unit::seconds, "CPU time"}, cpu_seconds);
  v.field({"samples_per_second", Unit::per_second, "samples divided by elapsed time"}, samples_per_second);
  v.field({"samples_per_second_interval", Unit::per_second,
           "95 % interval of the median over slices of 0.1 s; none below 1 s or with the rate outside"},
          samples_per_second_interval);
  v.field({"steady",
           "false if the rate drifted by more than 10 %; null if the run took less than 1 s, too short to find out"},
          steady);
  v.field({"samples_per_second_per_core", Unit::per_second, "samples divided by CPU time"},
          samples_per_second_per_core);
  v.field({"bytes_per_second", Unit::bytes_per_second, "tensor bytes written divided by elapsed time"},
          bytes_per_second);
  v.field({"cores_needed", "cores for one GPU of each published JPEG workload, besides decoding"}, cores_needed);
}

}  // namespace shardkit::bench
