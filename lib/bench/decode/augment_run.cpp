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

/// Samples of the batch tensor that each thread has.
std::uint64_t slots_per_thread(const DecodeBenchOptions& options, std::uint64_t sample_bytes) {
  const std::uint64_t memory = system::usable_memory() / 4;
  const std::uint64_t slots = memory / *options.threads / sample_bytes;
  if (slots > 0) return std::min(slots, kMostSlots);
  throw Error(ErrorCode::no_space,
              fmt::format("tensors of {} for each of {} exceed the available {}; reduce --crop or --threads",
                          format_size(sample_bytes), format_count(*options.threads, "thread"), format_size(memory)));
}

class AugmentWork {
 public:
  AugmentWork(std::span<const std::uint8_t> crops, const DecodeBenchOptions& options, Context& context)
      : crops_(crops),
        options_(options),
        context_(context),
        side_(side_of(options)),
        crop_bytes_(tensor_bytes(side_, 1)),
        sample_bytes_(tensor_bytes(side_, image::value_bytes(options.dtype))),
        slots_(slots_per_thread(options, sample_bytes_)),
        done_(*options.threads) {}

  Timing run() {
    context_.progress().start_for("augmenting", options_.min_seconds, "images");
    return timed_run(
        static_cast<unsigned>(*options_.threads),
        [&](unsigned thread, const std::stop_token& stop) { augment_crops(thread, stop); }, context_.progress().items,
        context_.stop_token());
  }

  std::uint64_t crops() const { return crops_.size() / crop_bytes_; }
  std::uint64_t sample_bytes() const { return sample_bytes_; }
  std::uint64_t augmented() const {
    std::uint64_t sum = 0;
    for (const Count& count : done_) sum += count.samples;
    return sum;
  }

 private:
  struct alignas(64) Count {
    std::uint64_t samples = 0;
  };

  void augment_crops(unsigned thread, const std::stop_token& stop) {
    std::vector<std::byte> memory(slots_ * sample_bytes_);
    const MutableBytes batch(memory);
    image::Augmenter augmenter(options_.dtype, options_.layout);
    Prng prng(options_.seed + thread);
    const auto earliest_end = moment_in(options_.min_seconds);  // the clock runs already
    for (std::uint64_t slot = 0; !stop.stop_requested(); slot = (slot + 1) % slots_) {
      const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= crops() && std::chrono::steady_clock::now() >= earliest_end) return;
      const auto crop = crops_.subspan(turn % crops() * crop_bytes_, crop_bytes_);
      augmenter.augment({crop, side_, side_}, image::draw_flip(prng),
                        batch.subspan(slot * sample_bytes_, sample_bytes_));
      ++done_[thread].samples;
      context_.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  }

  std::span<const std::uint8_t> crops_;
  const DecodeBenchOptions& options_;
  Context& context_;
  std::uint32_t side_;
  std::size_t crop_bytes_;
  std::uint64_t sample_bytes_;
  std::uint64_t slots_;
  std::vector<Count> done_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace

void check_augment(const DecodeBenchOptions& options) {
  slots_per_thread(options, tensor_bytes(side_of(options), image::value_bytes(options.dtype)));
}

AugmentResult measure_augment(const JpegStore& store, const DecodeBenchOptions& options, Context& context) {
  const std::vector<std::uint8_t> crops = decode_crops(store, options, context);
  AugmentWork work(crops, options, context);
  const Timing timing = work.run();
  context.throw_if_stopped();
  AugmentResult result;
  const auto samples = static_cast<double>(work.augmented());
  result.dtype = options.dtype;
  result.layout = options.layout;
  result.crops = work.crops();
  result.augmented = work.augmented();
  result.augment_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.samples_per_second = samples / timing.seconds;
  result.samples_per_second_interval = rate_interval(timing, result.samples_per_second);
  result.steady = is_steady(timing);
  result.samples_per_second_per_core = timing.cpu_seconds > 0 ? samples / timing.cpu_seconds : 0;
  result.bytes_per_second = result.samples_per_second * static_cast<double>(work.sample_bytes());
  result.cores_needed = cores_needed(result.samples_per_second_per_core);
  return result;
}

void AugmentResult::describe(FieldVisitor& v) {
  v.field({"dtype", "type of the tensor's values"}, dtype);
  v.field({"layout", "nchw or nhwc"}, layout);
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
