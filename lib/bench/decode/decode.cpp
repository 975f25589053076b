#include "bench/decode/decode.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "bench/timing/second_watch.hpp"
#include "bench/timing/turns.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/prng.hpp"
#include "core/units.hpp"
#include "image/augment.hpp"
#include "image/image_decoder.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

/// Options for the output of augmenting.
void check_tensor(const DecodeBenchOptions& options) {
  const DecodeBenchOptions usual;
  check_usage(options.dtype == usual.dtype, "--dtype needs --augment imagenet: decoding itself gives 8-bit values");
}

/// Options that only one of the backends has.
void check_backend(const DecodeBenchOptions& options) {
  if (options.backend == DecodeBackend::cpu) {
    check_usage(!options.batch, "--batch needs --backend nvjpeg");
    check_usage(!options.device, "--device needs --backend nvjpeg");
    return;
  }
  constexpr const char* kWhole = "{} needs --backend cpu: nvJPEG decodes only whole images here";
  check_usage(!options.crop, fmt::format(fmt::runtime(kWhole), "--crop"));
  check_usage(options.augment == Augmentation::none, fmt::format(fmt::runtime(kWhole), "--augment"));
  check_usage(!options.scaling, "--scaling needs --backend cpu: nvJPEG does not depend on the number of CPU threads");
}

constexpr std::uint64_t kUsualCrop = 224;

/// Decodes all images of a store repeatedly.
class DecodeWork {
 public:
  DecodeWork(const JpegStore& store, const DecodeBenchOptions& options, const std::optional<double>& most_seconds,
             Context& context)
      : store_(store), options_(options), most_seconds_(most_seconds), context_(context), failures_(store.size()) {}

  /// Decodes until every image was done once and `min_seconds` are over, or `most_seconds` are; each thread one at
  /// least.
  Timing run(unsigned threads, std::vector<DecodeTally>& tallies) {
    turns_.emplace(store_.size(), TurnLimits{{}, options_.min_seconds});
    context_.progress().start_for(phase::kDecoding, most_seconds_.value_or(options_.min_seconds), "images");
    tallies.assign(threads, {});
    return timed_run(
        threads, [&](unsigned thread, const std::stop_token& stop) { decode_images(thread, tallies[thread], stop); },
        context_.progress().items, context_.stop_token());
  }

  DecodeFailures failures() const {
    DecodeFailures counts;
    for (std::size_t i = 0; i < failures_.size(); ++i)
      counts.add(failures_[i].load(std::memory_order_relaxed), store_.image(i));
    return counts;
  }

  /// Images of the last run that were tried.
  std::uint64_t tried() const { return turns_->taken(); }

 private:
  void decode_images(unsigned thread, DecodeTally& tally, const std::stop_token& stop) {
    image::ImageDecoder decoder;
    Prng prng(thread);
    turns_->begin();
    // Set here, while the clock is running: an earlier budget would end too early.
    const Deadline latest_end = most_seconds_ ? Deadline(moment_in(*most_seconds_)) : Deadline();
    for (bool first = true; !stop.stop_requested(); first = false) {
      if (!first && is_over(latest_end)) return;
      const auto turn = turns_->next();
      if (!turn) return;
      const std::size_t index = *turn;
      const image::Decoded decoded = decode_image(decoder, prng, store_.image(index));
      if (decoded.failure != image::DecodeFailure::none)
        failures_[index].store(decoded.failure, std::memory_order_relaxed);
      if (!decoded.has_pixels()) continue;
      tally.add(store_, index);
      context_.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  }

  image::Decoded decode_image(image::ImageDecoder& decoder, Prng& prng, Bytes image) const {
    if (!options_.crop) return decoder.decode(image);
    return decoder.decode_random_crop(image, prng, static_cast<std::uint32_t>(*options_.crop));
  }

  const JpegStore& store_;
  const DecodeBenchOptions& options_;
  const std::optional<double> most_seconds_;
  Context& context_;
  std::vector<std::atomic<image::DecodeFailure>> failures_;  ///< by image
  std::optional<Turns> turns_;
};

void add_scaling(DecodeResult& result) {
  for (ScalingRow& row : result.scaling) {
    row.speedup = row.samples_per_second / result.scaling.front().samples_per_second;
    row.efficiency_ratio = row.speedup / static_cast<double>(row.threads);
  }
}

/// With the omitted options: threads, and for augmenting the crop, since a batch needs images of one size.
DecodeBenchOptions completed(DecodeBenchOptions options) {
  options.threads = decode_threads(options);
  if (options.augment != Augmentation::none && !options.crop) options.crop = kUsualCrop;
  return options;
}

DecodeResult decode_by_backend(const DecodeBenchOptions& options, Context& context) {
  if (options.backend == DecodeBackend::cpu)
    return decode(options, find_input(options.paths, context, options.access), context);
  const OpenGpus gpus(GpuUse::needed);
  return decode_on_device(options, find_input(options.paths, context, options.access), gpus.machine(), context);
}

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
  image::ImageDecoder decoder;
  Prng prng(0);
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
  Turns turns(count, {{}, options.min_seconds});
  Progress& progress = context.progress();
  progress.start_for(phase::kAugmenting, options.min_seconds, "images");
  const auto work = [&](unsigned thread, const std::stop_token& stop) {
    std::vector<std::byte> memory(slots * sample_bytes);
    const MutableBytes batch(memory);
    image::Augmenter augmenter(options.dtype);
    Prng prng(thread);
    turns.begin();
    for (std::uint64_t slot = 0; !stop.stop_requested(); slot = (slot + 1) % slots) {
      const auto turn = turns.next();
      if (!turn) return;
      const auto crop = crops.subspan(*turn * crop_bytes, crop_bytes);
      augmenter.augment({crop, side, side}, image::draw_flip(prng), batch.subspan(slot * sample_bytes, sample_bytes));
      progress.items.fetch_add(1, std::memory_order_relaxed);
    }
  };
  return timed_run(static_cast<unsigned>(*options.threads), work, progress.items, context.stop_token());
}

/// Decodes at most 256 random crops of the store's images. Then augments them repeatedly, each thread into its own
/// batch tensors of up to 16 samples, for at least `min_seconds` and at least once each. Throws the errors of
/// slots_per_thread(), and Error{corrupt} if no image can be decoded.
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

}  // namespace

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
  const bool are_intact = failures.other_format == tried;
  throw Error(are_intact ? ErrorCode::unsupported : ErrorCode::corrupt, At{first_named(input)},
              "none of {} from {} can be decoded ({} of another format or empty); the first is '{}'. Choose JPEG, PNG "
              "or WebP images, or measure only reading with `iobench read`",
              format_count(tried, "image"), named_text(input), failures.not_jpeg + failures.other_format,
              result.samples_used.first.front());
}

std::uint64_t decode_threads(const DecodeBenchOptions& options) {
  return options.threads.value_or(system::usable_threads());
}

void check_decode_options(const DecodeBenchOptions& options) {
  check_ranges(options);
  if (options.augment == Augmentation::none) check_tensor(options);
  check_backend(options);
}

/// Only images that never failed are decoded more than once.
std::uint64_t DecodeResult::tried() const { return std::min(images, decoded + failures.total); }

DecodeResult decode(const DecodeBenchOptions& options, Context& context) {
  check_decode_options(options);  // a wrong option is reported before a missing device
  DecodeResult result = decode_by_backend(options, context);
  warn_of_failures(result.failures, result.tried(), context);
  warn_of_neighbors(result.neighbors, context);
  return result;
}

DecodeResult decode(const DecodeBenchOptions& given, const InputSet& input, Context& context,
                    const std::optional<double>& most_seconds, const Deadline& loading) {
  check_decode_options(given);
  const DecodeBenchOptions options = completed(given);
  const bool augments = options.augment != Augmentation::none;
  if (augments) slots_per_thread(options);  // that there is memory for it
  const JpegStore store(input, options.samples, system::usable_memory() / 4, context, loading);
  DecodeWork work(store, options, most_seconds, context);
  DecodeResult result = result_of(store);
  result.crop = options.crop;
  NeighborWatch watch({});
  const auto counts = options.scaling ? stats::doubling_up_to(*options.threads) : std::vector{*options.threads};
  for (const std::uint64_t count : counts) {
    std::vector<DecodeTally> tallies;
    const Timing timing = work.run(static_cast<unsigned>(count), tallies);
    if (context.progress().items == 0) context.throw_if_stopped();
    result.interrupted = context.stop_token().stop_requested();
    result.threads = count;
    add_measurement(timing, tallies, result);
    if (options.scaling) result.scaling.push_back({count, result.samples_per_second});
    if (result.interrupted) break;
  }
  add_scaling(result);
  add_failures(work.failures(), work.tried(), input, result);
  try {
    if (augments) result.augment = measure_augment(store, options, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    result.interrupted = true;
  }
  result.neighbors = watch.so_far();
  return result;
}

void DecodeBenchOptions::describe(FieldList& v) {
  v.field({"PATH", "shards, image files, or folders of either", Role::positional, kMayDiffer}, paths);
  v.topic("Decoding");
  v.field({"backend", "decoder: libjpeg-turbo on the CPU, or nvJPEG on a GPU"}, backend);
  v.field(system::threads_field("decoding threads; default: CPUs available to the process"), threads);
  v.field({"crop", Unit::count, "decode only a random resized crop of this width and height in pixels", "PIXELS",
           between(1, kMostCrop)},
          crop);
  v.topic("Augmentation");
  v.field({"augment",
           "measure augmenting the crops separately: imagenet flips every second crop and normalizes; crops have 224 "
           "pixels without --crop"},
          augment);
  v.field({"dtype", "type of the augmented values; with --augment"}, dtype);
  v.topic("Measurement");
  v.field({"samples", Unit::count, "number of images to load, evenly distributed", kMayDiffer, at_least(1)}, samples);
  v.field({"min-time", Unit::seconds, "minimum time for decoding, and for augmenting", kMayDiffer, between(0, kDay),
           Misnomers{"min-seconds budget seconds duration"}},
          min_seconds);
  v.field({"scaling", "also measure 1, 2, 4, ... threads", kMayDiffer}, scaling);
  v.topic("Decoding");
  v.field({"batch", Unit::count, "images passed to nvJPEG at once; default: 256", between(1, 65536)}, batch);
  v.field({"device", "number of the GPU for nvJPEG; default: 0"}, device);
  access.describe(v);
}

void ScalingRow::describe(FieldList& v) {
  v.field({"threads", Unit::count, "decoding threads"}, threads);
  v.field({"samples_per_second", Unit::per_second, "images divided by elapsed time"}, samples_per_second);
  v.field({"speedup", "rate divided by the rate of one thread"}, speedup);
  v.field({"efficiency", Unit::ratio, "speedup divided by threads"}, efficiency_ratio);
}

void DecodeResult::describe(FieldList& v) {
  v.field({"backend", "decoder", kCondition}, backend);
  v.field({"crop", Unit::count, "width and height of the random resized crop; absent: whole images", kCondition}, crop);
  v.field({"threads", Unit::count, "decoding threads", kCondition}, threads);
  v.field({"images", Unit::count, "images in memory"}, images);
  v.field({"decoded", Unit::count, "images decoded, each at least once if time allowed"}, decoded);
  v.field({"decode_seconds", Unit::seconds, "elapsed time"}, decode_seconds);
  v.field({"cpu_seconds", Unit::seconds, "CPU time of the whole process"}, cpu_seconds);
  v.field({"cpu_seconds_per_sample", "CPU time divided by images decoded"}, cpu_seconds_per_sample);
  v.field({"samples_per_second", Unit::per_second, "images divided by elapsed time", metric(Better::higher)},
          samples_per_second);
  v.field({"samples_per_second_interval", Unit::per_second,
           "95 % interval of the median over slices of 0.1 s; absent if the run took less than 1 s or the rate lies "
           "outside"},
          samples_per_second_interval);
  v.field({"steady",
           "false if the rate drifted by more than 10 %; null if the run took less than 1 s, too short to find out"},
          steady);
  v.field({"samples_per_second_per_core", Unit::per_second,
           "images divided by CPU time, only those that the CPU decoded", metric(Better::higher)},
          samples_per_second_per_core);
  v.field(
      {"megapixels_per_second", Unit::per_second, "megapixels of the images before cropping, divided by elapsed time"},
      megapixels_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "compressed bytes divided by elapsed time"}, bytes_per_second);
  v.field({"mix", "properties of the images"}, mix);
  v.field({"samples_used", "how the images were chosen"}, samples_used);
  v.field({"failures", "images that could not be decoded, by kind"}, failures);
  v.field({"scaling", "results with fewer threads"}, scaling);
  v.field({"cores_needed", "cores that one GPU of each published JPEG workload needs, if the CPU decoded"},
          cores_needed);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
  v.field({"augment", "flipping, normalizing and collating, measured separately; absent without --augment"}, augment);
  v.field({"nvjpeg", "the GPU decoder and whether its pixels are correct; absent on the CPU"}, nvjpeg);
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
