#include "bench/decode/batch_decoder.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit {
namespace {

std::uint64_t bytes_of_largest(const JpegStore& store, std::uint64_t images) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < store.size(); ++i) sizes.push_back(device_stride(store.pixels(i) * 3));
  std::ranges::sort(sizes, std::greater());
  // The store's images come again: a batch may hold the largest several times.
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < images; ++i) bytes += sizes[i % sizes.size()];
  return std::max(bytes, device_stride(1));
}

std::uint64_t choose_memory(const JpegStore& store, const Device& device, std::uint64_t images, Context& context) {
  constexpr std::uint64_t kLeast = device_stride(1);
  const std::uint64_t wanted = bytes_of_largest(store, images);
  const std::uint64_t limit = std::max(device.free_memory() / 4 / kLeast * kLeast, kLeast);
  if (wanted <= limit) return wanted;
  context.warn(
      "batches_shortened",
      fmt::format("pixels of {} take up to {}, and a quarter of what is free on GPU {} is {}: batches hold "
                  "fewer images where these are large",
                  format_count(images, "image"), format_size(wanted), device.facts().index, format_size(limit)));
  return limit;
}

}  // namespace

BatchDecoder::BatchDecoder(const JpegStore& store, Device& device, DeviceJpegDecoder& decoder,
                           std::uint64_t most_images, Context& context)
    : store_(store),
      device_(device),
      decoder_(decoder),
      most_images_(most_images),
      memory_(device, choose_memory(store, device, most_images, context)) {}

std::optional<JpegRoute> BatchDecoder::route(std::size_t index) const {
  const auto route = route_jpeg(decoder_, store_.image(index));
  if (route && device_stride(route->bytes()) > memory()) return std::nullopt;
  return route;
}

bool BatchDecoder::has_room(const JpegBatch& batch, const RoutedJpeg& image) const {
  return batch.images.size() < most_images_ && batch.bytes + device_stride(image.route.bytes()) <= memory();
}

void BatchDecoder::add(JpegBatch& batch, const RoutedJpeg& image) {
  batch.images.push_back(image);
  batch.bytes += device_stride(image.route.bytes());
}

DecodedBatch BatchDecoder::decode(JpegEngine engine, JpegBatch& batch) {
  const std::vector<RoutedJpeg> images = std::exchange(batch, {}).images;
  std::vector<DeviceJpeg> jobs;
  std::size_t offset = 0;
  for (const auto& [index, route] : images) {
    const DeviceSpan place = memory_.span().part(offset, route.bytes());
    jobs.push_back({store_.image(index), {place, route.width, route.height}});
    offset += device_stride(route.bytes());
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

}  // namespace shardkit
