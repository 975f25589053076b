#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>

#include "bench/decode/decode.hpp"
#include "bench/machine/hardware_decoder.hpp"
#include "gpu/device.hpp"
#include "image/jpeg_decoder.hpp"
#include "sync/bounded_queue.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

/// Decodes the images of a store repeatedly, on a GPU and on the CPU. CPU threads parse headers and decode images that
/// the GPU does not support; one more thread fills batches and waits for the GPU.
class DeviceDecodeWork {
 public:
  DeviceDecodeWork(const JpegStore& store, BatchDecoder& batches, const DecodeBenchOptions& options, unsigned threads,
                   std::uint64_t batch, Context& context)
      : store_(store),
        batches_(batches),
        options_(options),
        threads_(threads),
        context_(context),
        routed_(2 * batch),
        cpu_tallies_(threads + 1),
        fates_(store.size()),
        sorting_(threads) {}

  /// Decodes until every image was done once and `min_seconds` are over, and all that was begun is there. Once.
  Timing run() {
    context_.progress().start_for("decoding", options_.min_seconds, "images");
    return timed_run(
        threads_ + 1,
        [&](unsigned thread, const std::stop_token& stop) {
          if (thread == threads_) {
            feed_device(cpu_tallies_[thread], stop);
          } else {
            sort_images(cpu_tallies_[thread], stop);
          }
        },
        context_.progress().items, context_.stop_token());
  }

  /// Images decoded on each path, by its number.
  std::array<DecodeTally, 4> by_path() const {
    std::array<DecodeTally, 4> tallies;
    std::ranges::copy(engine_tallies_, tallies.begin());
    for (const DecodeTally& tally : cpu_tallies_) tallies.back().add(tally);
    return tallies;
  }

  DecodeFailures failures() const {
    DecodeFailures counts;
    for (std::size_t i = 0; i < fates_.size(); ++i)
      counts.add(fates_[i].failure.load(std::memory_order_relaxed), store_.image(i));
    return counts;
  }

  std::uint64_t refused() const { return count(&Fate::refused); }
  std::uint64_t returned() const { return count(&Fate::returned); }

  /// The last images that a GPU decoded; their pixels are still there.
  const DecodedBatch& last_batch() const { return last_batch_; }

 private:
  /// The outcome of an image.
  struct Fate {
    std::atomic<image::DecodeFailure> failure{image::DecodeFailure::none};
    std::atomic<bool> refused{false};
    std::atomic<bool> returned{false};
  };

  std::uint64_t count(std::atomic<bool> Fate::*outcome) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(fates_, [=](const Fate& fate) { return (fate.*outcome).load(); }));
  }

  void sort_images(DecodeTally& tally, const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    image::JpegDecoder decoder;
    const Clock::time_point earliest_end = moment_in(options_.min_seconds);
    while (!stop.stop_requested()) {
      if (const auto index = take_returned()) {
        decode_on_cpu(*index, decoder, tally);
        continue;
      }
      const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= store_.size() && Clock::now() >= earliest_end) break;
      if (!sort_one(turn % store_.size(), decoder, tally, stop)) return;
    }
    if (sorting_.fetch_sub(1) == 1) routed_.close();
  }

  /// False when all is to end.
  bool sort_one(std::size_t index, image::JpegDecoder& decoder, DecodeTally& tally, const std::stop_token& stop) {
    if (const auto route = batches_.route(index)) return routed_.push({index, *route}, 1, stop);
    fates_[index].refused.store(true, std::memory_order_relaxed);
    decode_on_cpu(index, decoder, tally);
    return true;
  }

  void feed_device(DecodeTally& tally, const std::stop_token& stop) {
    while (const auto image = routed_.pop(stop)) {
      const gpu::JpegEngine engine = image->route.engine;
      if (!batches_.has_room(pending_[engine], *image)) decode_batch(engine);
      BatchDecoder::add(pending_[engine], *image);
    }
    if (stop.stop_requested()) return;
    for (const gpu::JpegEngine engine : gpu::kJpegEngines) {
      if (!pending_[engine].images.empty()) decode_batch(engine);
    }
    image::JpegDecoder decoder;  // of the images that these last ones returned: the other threads have ended
    while (const auto index = take_returned()) decode_on_cpu(*index, decoder, tally);
  }

  void decode_batch(gpu::JpegEngine engine) {
    last_batch_ = batches_.decode(engine, pending_[engine]);
    DecodeTally& tally = engine_tallies_.at(static_cast<std::size_t>(engine));
    for (const RoutedJpeg& image : last_batch_.images) tally.add(store_, image.index);
    context_.progress().items.fetch_add(last_batch_.images.size(), std::memory_order_relaxed);
    if (last_batch_.returned.empty()) return;
    const std::scoped_lock lock(mutex_);
    for (const std::size_t index : last_batch_.returned) {
      fates_[index].returned.store(true, std::memory_order_relaxed);
      returned_.push_back(index);
    }
  }

  void decode_on_cpu(std::size_t index, image::JpegDecoder& decoder, DecodeTally& tally) {
    const image::Decoded decoded = decoder.decode(store_.image(index));
    if (decoded.failure != image::DecodeFailure::none)
      fates_[index].failure.store(decoded.failure, std::memory_order_relaxed);
    if (!decoded.has_pixels()) return;
    tally.add(store_, index);
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  std::optional<std::size_t> take_returned() {
    const std::scoped_lock lock(mutex_);
    if (returned_.empty()) return std::nullopt;
    const std::size_t index = returned_.back();
    returned_.pop_back();
    return index;
  }

  const JpegStore& store_;
  BatchDecoder& batches_;
  const DecodeBenchOptions& options_;
  unsigned threads_;
  Context& context_;
  sync::BoundedQueue<RoutedJpeg> routed_;
  JpegBatches pending_;
  DecodedBatch last_batch_;
  std::array<DecodeTally, gpu::kJpegEngines.size()> engine_tallies_;
  std::vector<DecodeTally> cpu_tallies_;  ///< by thread
  std::vector<Fate> fates_;               ///< by image
  std::atomic<std::uint64_t> next_{0};
  std::atomic<unsigned> sorting_;  ///< threads that still look at headers
  std::mutex mutex_;
  std::vector<std::size_t> returned_;  ///< images that the GPU returned and the CPU must still decode
};

static_assert(static_cast<int>(DecodePath::hardware) == static_cast<int>(gpu::JpegEngine::hardware));
static_assert(static_cast<int>(DecodePath::gpu_hybrid) == static_cast<int>(gpu::JpegEngine::gpu_hybrid));

constexpr std::uint64_t kUsualBatch = 256;

DeviceDecodeResult describe_device(const gpu::Device& device, const gpu::DeviceJpegDecoder& decoder) {
  const gpu::JpegDecoderFacts facts = decoder.facts();
  DeviceDecodeResult result;
  result.device = device.facts().index;
  result.name = device.facts().name;
  result.library = facts.library;
  result.hardware = facts.hardware;
  result.hardware_engines = facts.hardware_engines;
  return result;
}

std::vector<DecodeShare> shares(std::span<const DecodeTally> by_path, std::uint64_t decoded) {
  std::vector<DecodeShare> rows;
  for (std::size_t path = 0; path < by_path.size(); ++path) {
    const double share = decoded == 0 ? 0 : static_cast<double>(by_path[path].images) / static_cast<double>(decoded);
    rows.push_back({static_cast<DecodePath>(path), by_path[path].images, share});
  }
  return rows;
}

}  // namespace

void DecodeShare::describe(FieldList& v) {
  v.field({"path", "engine of the GPU, or cpu"}, path);
  v.field({"samples", Unit::count, "images that it decoded"}, samples);
  v.field({"share", Unit::ratio, "share of all decoded images"}, share);
}

void DeviceDecodeResult::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU, as counted by CUDA"}, device);
  v.field({"name", "model of the GPU", kCondition}, name);
  v.field({"library", "decoder library and its version"}, library);
  v.field({"hardware", "whether the library uses hardware decoders of this GPU"}, hardware);
  v.field({"hardware_engines", Unit::count, "number of hardware decoders, if the library reports it"},
          hardware_engines);
  v.field({"batch", Unit::count, "largest batch passed to an engine", kCondition}, batch);
  v.field({"memory", Unit::bytes, "GPU memory for the pixels of a batch"}, memory);
  v.field({"paths", "images by engine"}, paths);
  v.field({"refused", Unit::count,
           "images that no engine supports, or that need more than this memory; decoded by the CPU"},
          refused);
  v.field({"returned", Unit::count, "images that an engine accepted but could not decode; decoded by the CPU"},
          returned);
  v.field({"pixels", "comparison of the GPU's pixels with those of libjpeg-turbo, made before measuring"}, pixels);
}

DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const DecodeMachine& machine,
                              Context& context) {
  check_decode_options(options);
  const auto threads = static_cast<unsigned>(decode_threads(options));
  gpu::Device& device = gpu::numbered_device(machine.devices, options.device.value_or(0));
  const auto decoder = machine.open_decoder(device, threads);
  warn_of_lost_hardware(decoder->facts(), context);
  DeviceDecodeResult on_device = describe_device(device, *decoder);
  on_device.batch = options.batch.value_or(kUsualBatch);

  const JpegStore store(input, options.samples, system::usable_memory() / 4, context);
  BatchDecoder batches(store, device, *decoder, on_device.batch, context);
  on_device.memory = batches.memory();
  const auto name_of = [&](std::size_t index) { return sample_names(input, {&store.sample(index), 1}).front(); };
  PixelCheck check(store, device, threads, name_of, context);
  compare_sample(store, batches, check, context);

  DeviceDecodeWork work(store, batches, options, threads, on_device.batch, context);
  const Timing timing = work.run();
  if (context.progress().items == 0) context.throw_if_stopped();
  const bool interrupted = context.stop_token().stop_requested();
  if (!interrupted) check.compare(work.last_batch());  // no pattern had filled their memory, and all engines were busy
  on_device.pixels = check.result();

  DecodeResult result = result_of(store);
  result.backend = DecodeBackend::nvjpeg;
  result.threads = threads;
  result.interrupted = interrupted;
  const auto by_path = work.by_path();
  add_measurement(timing, by_path, result);
  add_failures(work.failures(), store.size(), input, result);
  on_device.paths = shares(by_path, result.decoded);
  on_device.refused = work.refused();
  on_device.returned = work.returned();
  result.nvjpeg = on_device;
  return result;
}

}  // namespace shardkit::bench
