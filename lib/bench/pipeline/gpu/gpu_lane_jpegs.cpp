#include <cstring>

#include "bench/pipeline/gpu/gpu_lane.hpp"
#include "gpu/device_tensor.hpp"

/// What a lane does with images that its GPU is to decode.
namespace shardkit {

void GpuLane::bring_encoded(std::size_t place, const OutgoingBatch& batch, StageClock& clock, HandedBatch& handed) {
  handed.samples = 0;
  for (std::size_t first = 0; first < batch.samples;) {
    clock.enter(Activity::decode);
    const std::size_t count = jpegs_->decode(batch.raw.subspan(first));
    decode_returned(batch, first, count, handed);
    clock.enter(Activity::transfer);
    crop(place, batch, first, count, handed);
    first += count;
  }
}

void GpuLane::decode_returned(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed) {
  const std::size_t crop_bytes = batch.bytes / batch.samples;
  returned_.assign(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    RawSample& sample = batch.raw[first + i];
    if (!sample.route || jpegs_->pixels(i) != nullptr) continue;
    const Decoded decoded = decoder_.decode_resized_crop(sample.jpeg.bytes(), sample.box, settings_.side);
    handed.failures.add(decoded.failure);
    if (!decoded.has_pixels()) continue;
    std::memcpy(batch.memory.bytes().data() + (first + i) * crop_bytes, decoded.pixels.bytes.data(), crop_bytes);
    returned_[i] = true;
  }
}

void GpuLane::crop(std::size_t index, const OutgoingBatch& batch, std::size_t first, std::size_t count,
                   HandedBatch& handed) {
  Place& place = *places_[index];
  const std::size_t crop_bytes = batch.bytes / batch.samples;
  const std::uint32_t side = settings_.side;
  auto* const jobs = reinterpret_cast<CropJob*>(jobs_->bytes().data());
  const std::uint64_t begin_sample = handed.samples;
  const auto begin = std::chrono::steady_clock::now();
  copying_->record(*started_);
  for (std::size_t i = 0; i < count; ++i) {
    const RawSample& sample = batch.raw[first + i];
    const std::uint64_t number = handed.samples;
    if (const std::byte* const pixels = jpegs_->pixels(i)) {
      ++handed.paths.engines[static_cast<std::size_t>(sample.route->engine)];
      jobs[number] = crop_job(pixels, sample.route->width, sample.box, sample.flip, number, side);
    } else if (returned_[i] || !sample.route) {
      handed.paths.returned += returned_[i] ? 1 : 0;
      const DeviceSpan levels = place.crops->span().part((first + i) * crop_bytes, crop_bytes);
      copy(levels, batch.memory.bytes().subspan((first + i) * crop_bytes, crop_bytes));
      jobs[number] = crop_job(levels.data, side, {0, 0, side, side}, sample.flip, number, side);
    } else {
      continue;  // nobody could decode it
    }
    ++handed.samples;
  }
  const std::uint64_t made = handed.samples - begin_sample;
  const DeviceSpan to = place.jobs->span().part(begin_sample * sizeof(CropJob), made * sizeof(CropJob));
  if (made > 0) copying_->copy_to_device(to, std::as_bytes(std::span(jobs + begin_sample, made)));
  copying_->record(*place.copied);
  finishing_->wait(*place.copied);
  finishing_->crop(tensor_at(index), to, made);
  finishing_->record(*place.ready);
  jpegs_->used_until(*place.ready);
  finish_copies(place, begin);
}

}  // namespace shardkit
