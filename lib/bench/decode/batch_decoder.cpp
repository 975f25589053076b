#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bench/decode/decode.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/pixels.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

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

constexpr std::size_t kMostCompared = 512;

bool has_small_chroma(Bytes jpeg) {
  const image::Subsampling subsampling = image::read_jpeg_header(jpeg).header.subsampling;
  return subsampling != image::Subsampling::s444 && subsampling != image::Subsampling::gray;
}

}  // namespace

BatchDecoder::BatchDecoder(const JpegStore& store, gpu::Device& device, gpu::DeviceJpegDecoder& decoder,
                           std::uint64_t most_images, Context& context)
    : store_(store),
      device_(device),
      decoder_(decoder),
      most_images_(most_images),
      memory_(device, choose_memory(store, device, most_images, context)) {}

std::optional<JpegRoute> BatchDecoder::route(std::size_t index) const {
  const auto route = route_jpeg(decoder_, store_.image(index));
  if (route && gpu::device_stride(route->bytes()) > memory()) return std::nullopt;
  return route;
}

bool BatchDecoder::has_room(const JpegBatch& batch, const RoutedJpeg& image) const {
  return batch.images.size() < most_images_ && batch.bytes + gpu::device_stride(image.route.bytes()) <= memory();
}

void BatchDecoder::add(JpegBatch& batch, const RoutedJpeg& image) {
  batch.images.push_back(image);
  batch.bytes += gpu::device_stride(image.route.bytes());
}

DecodedBatch BatchDecoder::decode(gpu::JpegEngine engine, JpegBatch& batch) {
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

/// The state of one thread.
class PixelCheck::Comparer {
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

PixelCheck::PixelCheck(const JpegStore& store, gpu::Device& device, unsigned threads,
                       std::function<std::string(std::size_t)> name_of, Context& context)
    : store_(store), device_(device), threads_(threads), name_of_(std::move(name_of)), context_(context) {}

/// Each thread has an image three times: the GPU's pixels and libjpeg-turbo's two.
std::size_t PixelCheck::threads_for(const DecodedBatch& batch) const {
  std::uint64_t largest = 1;
  for (const RoutedJpeg& image : batch.images) largest = std::max(largest, image.route.bytes());
  const std::uint64_t fit = std::max<std::uint64_t>(system::usable_memory() / 4 / (3 * largest), 1);
  return std::min<std::uint64_t>({threads_, batch.images.size(), fit});
}

void PixelCheck::compare(const DecodedBatch& batch) {
  std::vector<std::unique_ptr<Comparer>> comparers(threads_for(batch));
  sync::for_each_index(batch.images.size(), comparers.size(), context_.stop_token(),
                       [&](std::size_t index, std::size_t thread) {
                         if (!comparers[thread]) comparers[thread] = std::make_unique<Comparer>(*this);
                         comparers[thread]->compare(batch.images[index], batch.pixels[index], batch.engine);
                         context_.progress().items.fetch_add(1, std::memory_order_relaxed);
                       });
}

void PixelCheck::note(const RoutedJpeg& image, gpu::JpegEngine engine, double psnr,
                      const std::array<std::uint8_t, 3>& largest, bool plain_chroma) {
  if (psnr < kLeastPsnr) {
    const std::string name = name_of_(image.index);
    throw Error(ErrorCode::corrupt, At{name},
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

PixelComparison PixelCheck::result() const {
  PixelComparison result = result_;
  if (psnr_.empty()) return result;
  result.min_psnr = std::ranges::min(psnr_);
  result.median_psnr = stats::summarize(psnr_).median;
  return result;
}

void compare_sample(const JpegStore& store, BatchDecoder& batches, PixelCheck& check, Context& context) {
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
