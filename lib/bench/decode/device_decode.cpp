#include "bench/decode/device_decode.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "bench/decode/decode.hpp"
#include "bench/timing/second_watch.hpp"
#include "bench/timing/turns.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/device.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/pixels.hpp"
#include "stats/summary.hpp"
#include "sync/bounded_queue.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

/// An image of a store that will be decoded on a GPU.
struct RoutedJpeg {
  std::size_t index = 0;
  JpegRoute route;
};

/// Images that one engine will decode at once.
struct JpegBatch {
  std::vector<RoutedJpeg> images;
  std::uint64_t bytes = 0;  ///< of memory for their pixels
};

using JpegBatches = std::map<gpu::JpegEngine, JpegBatch>;

/// Images that were decoded at once. Their pixels are valid until the next batch.
struct DecodedBatch {
  gpu::JpegEngine engine = gpu::JpegEngine::hardware;
  std::vector<RoutedJpeg> images;
  std::vector<gpu::DeviceImage> pixels;  ///< one for each of these
  std::vector<std::size_t> returned;     ///< images that could not be decoded, by their number in the store
};

std::uint64_t bytes_of_largest(const JpegStore& store, std::uint64_t images) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < store.size(); ++i) sizes.push_back(gpu::device_stride(store.pixels(i) * 3));
  std::ranges::sort(sizes, std::greater());
  // The store's images repeat: a batch may contain the largest several times.
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < images; ++i) bytes += sizes[i % sizes.size()];
  return std::max(bytes, gpu::device_stride(1));
}

std::uint64_t choose_memory(const JpegStore& store, const gpu::Device& device, std::uint64_t images, Context& context) {
  constexpr std::uint64_t kLeast = gpu::device_stride(1);
  const std::uint64_t wanted = bytes_of_largest(store, images);
  const std::uint64_t limit = std::max(device.free_memory() / 4 / kLeast * kLeast, kLeast);
  if (wanted <= limit) return wanted;
  context.warn("batches_shortened", fmt::format("pixels of {} need up to {}, but a quarter of the free memory of GPU "
                                                "{} is {}; batches of large images will be smaller",
                                                format_count(images, "image"), format_size(wanted),
                                                device.facts().index, format_size(limit)));
  return limit;
}

/// Decodes images of a store into a fixed block of GPU memory.
class BatchDecoder {
 public:
  /// Allocates memory for `most_images` of the largest images, but at most a quarter of the free GPU memory, because
  /// nvJPEG itself needs several times as much as the pixels. Warns if batches will be smaller because of that.
  BatchDecoder(const JpegStore& store, gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t most_images,
               Context& context)
      : store_(store),
        device_(device),
        decoder_(decoder),
        most_images_(most_images),
        memory_(device, choose_memory(store, device, most_images, context)) {}

  std::uint64_t memory() const { return memory_.span().size; }

  /// Empty if the CPU must decode it, also if the image is larger than the memory. Thread-safe.
  std::optional<JpegRoute> route(std::size_t index) const {
    const auto route = route_jpeg(decoder_, store_.image(index));
    if (route && gpu::device_stride(route->bytes()) > memory()) return std::nullopt;
    return route;
  }

  bool has_room(const JpegBatch& batch, const RoutedJpeg& image) const {
    return batch.images.size() < most_images_ && batch.bytes + gpu::device_stride(image.route.bytes()) <= memory();
  }

  static void add(JpegBatch& batch, const RoutedJpeg& image) {
    batch.images.push_back(image);
    batch.bytes += gpu::device_stride(image.route.bytes());
  }

  /// Writes a pattern over the memory, so that pixels of an earlier batch cannot pass for those of a later one.
  void forget_pixels() { device_.fill_pattern(memory_.span(), kStaleSeed); }

  /// Decodes and empties a batch. One thread at a time.
  DecodedBatch decode(gpu::JpegEngine engine, JpegBatch& batch) {
    const std::vector<RoutedJpeg> images = std::exchange(batch, {}).images;
    std::vector<gpu::DeviceJpeg> jobs;
    std::size_t offset = 0;
    for (const auto& [index, route] : images) {
      const gpu::DeviceSpan target = memory_.span().part(offset, route.bytes());
      jobs.push_back({store_.image(index), {target, route.width, route.height}});
      offset += gpu::device_stride(route.bytes());
    }
    const std::vector<std::size_t> failed = decoder_.decode(engine, jobs);
    DecodedBatch decoded;
    decoded.engine = engine;
    auto next_failed = failed.begin();
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (next_failed != failed.end() && *next_failed == i) {
        decoded.returned.push_back(images[i].index);
        ++next_failed;
        continue;
      }
      decoded.images.push_back(images[i]);
      decoded.pixels.push_back(jobs[i].image);
    }
    return decoded;
  }

 private:
  static constexpr std::uint64_t kStaleSeed = 0x5eed;

  const JpegStore& store_;
  gpu::Device& device_;
  gpu::DeviceJpegDecoder& decoder_;
  std::uint64_t most_images_;
  gpu::DeviceBuffer memory_;
};

bool has_small_chroma(Bytes jpeg) {
  const image::Subsampling subsampling = image::read_jpeg_header(jpeg).header.subsampling;
  return subsampling != image::Subsampling::s444 && subsampling != image::Subsampling::gray;
}

/// Compares pixels of a GPU with those of libjpeg-turbo for the same images.
class PixelCheck {
 public:
  PixelCheck(const InputSet& input, const JpegStore& store, gpu::Device& device, unsigned threads, Context& context)
      : input_(input), store_(store), device_(device), threads_(threads), context_(context) {}

  /// Throws Error{corrupt} with the name of an image if its pixels are wrong.
  void compare(const DecodedBatch& batch) {
    std::vector<std::unique_ptr<Comparer>> comparers(threads_for(batch));
    sync::for_each_index(batch.images.size(), comparers.size(), context_.stop_token(),
                         [&](std::size_t index, std::size_t thread) {
                           if (!comparers[thread]) comparers[thread] = std::make_unique<Comparer>(*this);
                           comparers[thread]->compare(batch.images[index], batch.pixels[index], batch.engine);
                           context_.progress().items.fetch_add(1, std::memory_order_relaxed);
                         });
  }

  PixelComparison result() const {
    PixelComparison result = result_;
    if (psnr_.empty()) return result;
    result.min_psnr = std::ranges::min(psnr_);
    result.median_psnr = stats::summarize(psnr_).median;
    return result;
  }

 private:
  /// The state of one thread.
  class Comparer {
   public:
    explicit Comparer(PixelCheck& check) : check_(check), stream_(check.device_.make_stream()) {}

    void compare(const RoutedJpeg& image, const gpu::DeviceImage& found, gpu::JpegEngine engine) {
      const Bytes jpeg = check_.store_.image(image.index);
      const image::Decoded smooth = smooth_.decode(jpeg);
      if (smooth.failure != image::DecodeFailure::none) {  // decoders may return anything for damaged data
        const std::scoped_lock lock(check_.mutex_);
        ++check_.result_.damaged;
        return;
      }
      pixels_.resize(image.route.bytes());
      stream_->copy_to_host(std::as_writable_bytes(std::span(pixels_)), found.pixels);
      stream_->synchronize();
      const image::PixelView view{pixels_, found.width, found.height};
      image::PixelDifference difference = image::pixel_difference(view, smooth.pixels);
      bool plain_chroma = false;
      if (has_small_chroma(jpeg)) {
        const image::PixelDifference plain = image::pixel_difference(view, plain_.decode(jpeg).pixels);
        plain_chroma = plain.psnr_db > difference.psnr_db;
        if (plain_chroma) difference = plain;
      }
      check_.note(image, engine, difference.psnr_db, difference.largest, plain_chroma);
    }

   private:
    PixelCheck& check_;
    std::unique_ptr<gpu::Stream> stream_;
    image::JpegDecoder smooth_;
    image::JpegDecoder plain_{{.smooth_chroma = false}};
    std::vector<std::uint8_t> pixels_;
  };

  /// Each thread has an image three times: the GPU's pixels and libjpeg-turbo's two.
  std::size_t threads_for(const DecodedBatch& batch) const {
    std::uint64_t largest = 1;
    for (const RoutedJpeg& image : batch.images) largest = std::max(largest, image.route.bytes());
    const std::uint64_t fit = std::max<std::uint64_t>(system::usable_memory() / 4 / (3 * largest), 1);
    return std::min<std::uint64_t>({threads_, batch.images.size(), fit});
  }

  void note(const RoutedJpeg& image, gpu::JpegEngine engine, double psnr, const std::array<std::uint8_t, 3>& largest,
            bool plain_chroma) {
    if (psnr < kLeastPsnr) {
      const std::string name = sample_names(input_, {&store_.sample(image.index), 1}).front();
      throw Error(
          ErrorCode::corrupt, At{name},
          "GPU {} decodes '{}' incorrectly with its {} engine: {:.1f} dB compared with libjpeg-turbo, at least "
          "{:.0f} expected. No rate is reported for wrong pixels; try another version of nvJPEG or of the driver",
          device_.facts().index, name, enum_name(engine), psnr, kLeastPsnr);
    }
    const std::scoped_lock lock(mutex_);
    psnr_.push_back(psnr);
    ++result_.compared;
    if (plain_chroma) ++result_.plain_chroma;
    const auto raise = [](std::uint64_t& most, std::uint8_t value) { most = std::max<std::uint64_t>(most, value); };
    raise(result_.max_difference_red, largest[0]);
    raise(result_.max_difference_green, largest[1]);
    raise(result_.max_difference_blue, largest[2]);
  }

  const InputSet& input_;
  const JpegStore& store_;
  gpu::Device& device_;
  unsigned threads_;
  Context& context_;
  std::mutex mutex_;
  std::vector<double> psnr_;
  PixelComparison result_;
};

/// Decodes at most 512 images, evenly distributed, and compares them. Images for the CPU are left out.
void compare_sample(const JpegStore& store, BatchDecoder& batches, PixelCheck& check, Context& context) {
  constexpr std::size_t kMostCompared = 512;
  const std::size_t count = std::min(store.size(), kMostCompared);
  context.progress().start("comparing pixels", count);
  JpegBatches pending;
  const auto compare = [&](gpu::JpegEngine engine) {
    if (pending[engine].images.empty()) return;
    batches.forget_pixels();
    check.compare(batches.decode(engine, pending[engine]));
  };
  for (std::size_t i = 0; i < count; ++i) {
    context.throw_if_stopped();
    const std::size_t index = i * store.size() / count;
    const auto route = batches.route(index);
    if (!route) continue;
    const RoutedJpeg image{index, *route};
    if (!batches.has_room(pending[route->engine], image)) compare(route->engine);
    BatchDecoder::add(pending[route->engine], image);
  }
  for (const gpu::JpegEngine engine : gpu::kJpegEngines) compare(engine);
}

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
        turns_(store.size(), {{}, options.min_seconds}),
        cpu_tallies_(threads + 1),
        fates_(store.size()),
        sorting_(threads) {}

  /// Decodes until every image was done once and `min_seconds` are over, and all that was begun is there. Once.
  Timing run() {
    context_.progress().start_for(phase::kDecoding, options_.min_seconds, "images");
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
    image::JpegDecoder decoder;
    turns_.begin();
    while (!stop.stop_requested()) {
      if (const auto index = take_returned()) {
        decode_on_cpu(*index, decoder, tally);
        continue;
      }
      const auto turn = turns_.next();
      if (!turn) break;
      if (!sort_one(*turn, decoder, tally, stop)) return;
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
  Turns turns_;
  JpegBatches pending_;
  DecodedBatch last_batch_;
  std::array<DecodeTally, gpu::kJpegEngines.size()> engine_tallies_;
  std::vector<DecodeTally> cpu_tallies_;  ///< by thread
  std::vector<Fate> fates_;               ///< by image
  std::atomic<unsigned> sorting_;         ///< threads that still look at headers
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

DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const GpuMachine& machine,
                              Context& context) {
  check_decode_options(options);
  const auto threads = static_cast<unsigned>(decode_threads(options));
  gpu::Device& device = gpu::numbered_device(machine.devices, options.device.value_or(0));
  const auto decoder = machine.open_jpegs(device, threads);
  warn_of_lost_hardware(decoder->facts(), context);
  DeviceDecodeResult on_device = describe_device(device, *decoder);
  on_device.batch = options.batch.value_or(kUsualBatch);

  const JpegStore store(input, options.samples, system::usable_memory() / 4, context);
  BatchDecoder batches(store, device, *decoder, on_device.batch, context);
  on_device.memory = batches.memory();
  PixelCheck check(input, store, device, threads, context);
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

void PixelComparison::describe(FieldList& v) {
  v.field({"compared", Unit::count, "images decoded by both and compared"}, compared);
  v.field({"damaged", Unit::count, "images that are damaged according to libjpeg-turbo and were not compared"},
          damaged);
  v.field({"plain_chroma", Unit::count,
           "images with subsampled chroma that were closer to libjpeg-turbo without smooth upsampling, and were "
           "compared with that"},
          plain_chroma);
  v.field({"least_allowed_psnr_db", "below this value an image counts as wrong, and no rate is reported"},
          least_allowed_psnr);
  v.field({"min_psnr_db", "lowest peak signal-to-noise ratio of an image, in dB; 100: identical"}, min_psnr);
  v.field({"median_psnr_db", "median over all images"}, median_psnr);
  v.field({"max_difference_red", Unit::count, "largest difference of a red value, of 255"}, max_difference_red);
  v.field({"max_difference_green", Unit::count, "largest difference of a green value"}, max_difference_green);
  v.field({"max_difference_blue", Unit::count, "largest difference of a blue value"}, max_difference_blue);
}

}  // namespace shardkit::bench
