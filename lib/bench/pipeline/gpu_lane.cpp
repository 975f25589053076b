#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/pipeline/gpu_sink.hpp"
#include "bench/requirement/requirement.hpp"
#include "gpu/device_tensor.hpp"

namespace shardkit::bench {

GpuJpegs::GpuJpegs(gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t memory)
    : decoder_(decoder), memory_(device, memory) {}

std::size_t GpuJpegs::assign_memory(std::span<const RawSample> samples) {
  pixels_.assign(samples.size(), nullptr);
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].route) continue;
    if (i > 0 && used + samples[i].route->bytes() > memory_.span().size) return i;
    pixels_[i] = memory_.span().data + used;
    used += gpu::device_stride(samples[i].route->bytes());
  }
  return samples.size();
}

void GpuJpegs::decode_by(gpu::JpegEngine engine, std::span<RawSample> samples) {
  std::vector<gpu::DeviceJpeg> jobs;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].route || samples[i].route->engine != engine) continue;
    const JpegRoute& route = *samples[i].route;
    jobs.push_back({samples[i].jpeg.bytes(), {{pixels_[i], route.bytes()}, route.width, route.height}});
    numbers.push_back(i);
  }
  if (jobs.empty()) return;
  for (const std::size_t failed : decoder_.decode(engine, jobs)) pixels_[numbers[failed]] = nullptr;
}

std::size_t GpuJpegs::decode(std::span<RawSample> samples) {
  if (used_ != nullptr) used_->wait();
  const std::size_t count = assign_memory(samples);
  for (const gpu::JpegEngine engine : gpu::kJpegEngines) decode_by(engine, samples.first(count));
  return count;
}

namespace {

gpu::HostMemory kind_of(const LoaderSettings& settings) {
  return settings.pinned ? gpu::HostMemory::pinned : gpu::HostMemory::pageable;
}

std::size_t head_of(const LoaderSettings& settings) {
  return settings.form == SampleForm::tensor ? 0 : gpu::device_stride(settings.batch);
}

std::size_t tensor_size(const LoaderSettings& settings) {
  return settings.batch * tensor_bytes(settings.crop, image::value_bytes(settings.type));
}

std::size_t crops_size(const LoaderSettings& settings) {
  return head_of(settings) + settings.batch * tensor_bytes(settings.crop, 1);
}

}  // namespace

GpuBatchMemory::GpuBatchMemory(gpu::Device& device, const LoaderSettings& settings, std::size_t bytes)
    : head_(head_of(settings)), buffer_(device, kind_of(settings), head_ + bytes) {}

GpuLane::Slot::Slot(gpu::Device& device, const LoaderSettings& settings)
    : tensor(device, tensor_size(settings)), copied(device.make_event()), ready(device.make_event()) {
  if (settings.form != SampleForm::tensor) crops.emplace(device, crops_size(settings));
  if (settings.form == SampleForm::encoded) jobs.emplace(device, settings.batch * sizeof(gpu::CropJob));
}

GpuLane::GpuLane(gpu::Device& device, const LoaderSettings& settings, GpuJpegs* jpegs)
    : settings_(settings),
      started_(device.make_event()),
      computed_(device.make_event()),
      gate_(device.make_gate()),
      copying_(device.make_stream()),
      finishing_(device.make_stream()),
      computing_(device.make_stream()),
      jpegs_(jpegs) {
  if (jpegs_) jobs_.emplace(device, gpu::HostMemory::pinned, settings.batch * sizeof(gpu::CropJob));
  for (std::size_t i = 0; i < settings.slots(); ++i) {
    slots_.push_back(std::make_unique<Slot>(device, settings));
    free_.push_back(settings.slots() - 1 - i);
  }
}

std::uint64_t GpuLane::memory(const LoaderSettings& settings) {
  std::uint64_t bytes = tensor_size(settings);
  if (settings.form != SampleForm::tensor) bytes += crops_size(settings);
  if (settings.form == SampleForm::encoded) bytes += settings.batch * sizeof(gpu::CropJob);
  return settings.slots() * bytes;
}

std::size_t GpuLane::take_slot() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) throw std::logic_error("more batches are on the GPU than the prefetch allows");
  const std::size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void GpuLane::release(std::size_t slot) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(slot);
}

gpu::DeviceTensor GpuLane::tensor_at(std::size_t slot) const {
  return {slots_[slot]->tensor.span(), settings_.crop, settings_.type};
}

void GpuLane::normalize(std::size_t index, std::uint64_t samples) {
  Slot& slot = *slots_[index];
  const std::size_t head = head_of(settings_);
  const gpu::DeviceSpan crops = slot.crops->span();
  finishing_->wait(*slot.copied);
  finishing_->normalize(tensor_at(index), samples, crops.part(head, crops.size - head), crops.part(0, head));
  finishing_->record(*slot.ready);
}

void GpuLane::copy(gpu::DeviceSpan to, Bytes from) {
  copying_->copy_to_device(to, from);
  under_way_ += from.size();
}

void GpuLane::finish_copies(Slot& slot, std::chrono::steady_clock::time_point begin) {
  slot.copied->wait();
  // The driver copies pageable memory itself before it enqueues anything.
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  if (under_way_ == 0) return;
  ++copies_.copies;
  copies_.bytes += std::exchange(under_way_, 0);
  copies_.seconds += settings_.pinned ? slot.copied->seconds_since(*started_) : passed.count();
}

void GpuLane::hand_over_whole(std::size_t index, const OutgoingBatch& batch) {
  Slot& slot = *slots_[index];
  auto& memory = dynamic_cast<GpuBatchMemory&>(batch.memory);
  std::ranges::transform(batch.raw, memory.flips().begin(),
                         [](const RawSample& sample) { return std::byte{sample.flip}; });
  const auto begin = std::chrono::steady_clock::now();
  copying_->record(*started_);
  copy(settings_.form == SampleForm::tensor ? slot.tensor.span() : slot.crops->span(), memory.packed(batch.bytes));
  copying_->record(*slot.copied);
  if (settings_.form == SampleForm::tensor) {
    copying_->record(*slot.ready);
  } else {
    normalize(index, batch.samples);
  }
  finish_copies(slot, begin);
}

HandedBatch GpuLane::hand_over(const OutgoingBatch& batch, StageClock& clock) {
  HandedBatch handed{take_slot(), batch.samples};
  if (settings_.form == SampleForm::encoded) {
    hand_over_encoded(handed.slot, batch, clock, handed);
  } else {
    hand_over_whole(handed.slot, batch);
  }
  return handed;
}

bool GpuLane::wait_for(std::size_t slot) {
  gpu::Event& ready = *slots_[slot]->ready;
  if (ready.is_reached()) return true;
  ready.wait();
  return false;
}

void GpuLane::start_computing(std::size_t slot, std::uint64_t nanoseconds) {
  computing_->wait(*slots_[slot]->ready);
  computing_->spin(*gate_, nanoseconds);
  computing_->record(*computed_);
}

void GpuLane::hand_over_encoded(std::size_t slot, const OutgoingBatch& batch, StageClock& clock, HandedBatch& handed) {
  handed.samples = 0;
  for (std::size_t first = 0; first < batch.samples;) {
    clock.enter(Activity::decode);
    const std::size_t count = jpegs_->decode(batch.raw.subspan(first));
    decode_returned(batch, first, count, handed);
    clock.enter(Activity::transfer);
    crop(slot, batch, first, count, handed);
    first += count;
  }
}

void GpuLane::decode_returned(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed) {
  const std::size_t crop_bytes = batch.bytes / batch.samples;
  returned_.assign(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    RawSample& sample = batch.raw[first + i];
    if (!sample.route || jpegs_->pixels(i) != nullptr) continue;
    const image::Decoded decoded = decoder_.decode_resized_crop(sample.jpeg.bytes(), sample.box, settings_.crop);
    handed.failures.add(decoded.failure, sample.jpeg.bytes());
    if (!decoded.has_pixels()) continue;
    std::memcpy(batch.memory.bytes().data() + (first + i) * crop_bytes, decoded.pixels.bytes.data(), crop_bytes);
    returned_[i] = true;
  }
}

void GpuLane::crop(std::size_t index, const OutgoingBatch& batch, std::size_t first, std::size_t count,
                   HandedBatch& handed) {
  Slot& slot = *slots_[index];
  const std::size_t crop_bytes = batch.bytes / batch.samples;
  const std::uint32_t side = settings_.crop;
  auto* const jobs = reinterpret_cast<gpu::CropJob*>(jobs_->bytes().data());
  const std::uint64_t begin_sample = handed.samples;
  const auto begin = std::chrono::steady_clock::now();
  copying_->record(*started_);
  for (std::size_t i = 0; i < count; ++i) {
    const RawSample& sample = batch.raw[first + i];
    const std::uint64_t number = handed.samples;
    if (const std::byte* const pixels = jpegs_->pixels(i)) {
      ++handed.paths.engines[static_cast<std::size_t>(sample.route->engine)];
      jobs[number] = gpu::crop_job(pixels, sample.route->width, sample.box, sample.flip, number, side);
    } else if (returned_[i] || !sample.route) {
      handed.paths.returned += returned_[i] ? 1 : 0;
      const gpu::DeviceSpan levels = slot.crops->span().part((first + i) * crop_bytes, crop_bytes);
      copy(levels, batch.memory.bytes().subspan((first + i) * crop_bytes, crop_bytes));
      jobs[number] = gpu::crop_job(levels.data, side, {0, 0, side, side}, sample.flip, number, side);
    } else {
      continue;  // nothing could decode it
    }
    ++handed.samples;
  }
  const std::uint64_t made = handed.samples - begin_sample;
  const gpu::DeviceSpan to = slot.jobs->span().part(begin_sample * sizeof(gpu::CropJob), made * sizeof(gpu::CropJob));
  if (made > 0) copying_->copy_to_device(to, std::as_bytes(std::span(jobs + begin_sample, made)));
  copying_->record(*slot.copied);
  finishing_->wait(*slot.copied);
  finishing_->crop(tensor_at(index), to, made);
  finishing_->record(*slot.ready);
  jpegs_->used_until(*slot.ready);
  finish_copies(slot, begin);
}

}  // namespace shardkit::bench
