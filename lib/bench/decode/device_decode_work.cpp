#include "bench/decode/device_decode_work.hpp"

#include <algorithm>
#include <chrono>

#include "image/jpeg_decoder.hpp"

namespace shardkit {

static_assert(static_cast<int>(DecodePath::hardware) == static_cast<int>(JpegEngine::hardware));
static_assert(static_cast<int>(DecodePath::gpu_hybrid) == static_cast<int>(JpegEngine::gpu_hybrid));

DeviceDecodeWork::DeviceDecodeWork(const JpegStore& store, BatchDecoder& batches, const DecodeBenchOptions& options,
                                   unsigned threads, std::uint64_t batch, Context& context)
    : store_(store),
      batches_(batches),
      options_(options),
      threads_(threads),
      context_(context),
      routed_(2 * batch),
      cpu_tallies_(threads + 1),
      fates_(store.size()),
      sorting_(threads) {}

Timing DeviceDecodeWork::run() {
  context_.progress().start("decoding");  // no total: images come again until the time is over
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

void DeviceDecodeWork::sort_images(DecodeTally& tally, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  JpegDecoder decoder;
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
bool DeviceDecodeWork::sort_one(std::size_t index, JpegDecoder& decoder, DecodeTally& tally,
                                const std::stop_token& stop) {
  if (const auto route = batches_.route(index)) return routed_.push({index, *route}, 1, stop);
  fates_[index].refused.store(true, std::memory_order_relaxed);
  decode_on_cpu(index, decoder, tally);
  return true;
}

void DeviceDecodeWork::feed_device(DecodeTally& tally, const std::stop_token& stop) {
  while (const auto image = routed_.pop(stop)) {
    const JpegEngine engine = image->route.engine;
    if (!batches_.has_room(pending_[engine], *image)) decode_batch(engine);
    BatchDecoder::add(pending_[engine], *image);
  }
  if (stop.stop_requested()) return;
  for (const JpegEngine engine : kJpegEngines) {
    if (!pending_[engine].images.empty()) decode_batch(engine);
  }
  JpegDecoder decoder;  // of what these last ones gave back: the other threads are done
  while (const auto index = take_returned()) decode_on_cpu(*index, decoder, tally);
}

void DeviceDecodeWork::decode_batch(JpegEngine engine) {
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

void DeviceDecodeWork::decode_on_cpu(std::size_t index, JpegDecoder& decoder, DecodeTally& tally) {
  const Decoded decoded = decoder.decode(store_.image(index));
  if (decoded.failure != DecodeFailure::none) fates_[index].failure.store(decoded.failure, std::memory_order_relaxed);
  if (!decoded.has_pixels()) return;
  tally.add(store_, index);
  context_.progress().items.fetch_add(1, std::memory_order_relaxed);
}

std::optional<std::size_t> DeviceDecodeWork::take_returned() {
  const std::scoped_lock lock(mutex_);
  if (returned_.empty()) return std::nullopt;
  const std::size_t index = returned_.back();
  returned_.pop_back();
  return index;
}

std::array<DecodeTally, 4> DeviceDecodeWork::by_path() const {
  std::array<DecodeTally, 4> tallies;
  std::ranges::copy(engine_tallies_, tallies.begin());
  for (const DecodeTally& tally : cpu_tallies_) tallies.back().add(tally);
  return tallies;
}

DecodeFailures DeviceDecodeWork::failures() const {
  DecodeFailures counts;
  for (const Fate& fate : fates_) counts.add(fate.failure.load(std::memory_order_relaxed));
  return counts;
}

std::uint64_t DeviceDecodeWork::refused() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(fates_, [](const Fate& fate) { return fate.refused.load(); }));
}

std::uint64_t DeviceDecodeWork::returned() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(fates_, [](const Fate& fate) { return fate.returned.load(); }));
}

}  // namespace shardkit
