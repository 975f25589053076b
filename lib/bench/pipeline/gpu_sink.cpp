#include "bench/pipeline/gpu_sink.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/machine/placement.hpp"
#include "bench/pipeline/gpu_check.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/tensor_math.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::bench {
namespace {

gpu::HostMemory kind_of(const LoaderSettings& settings) {
  return settings.pinned ? gpu::HostMemory::pinned : gpu::HostMemory::pageable;
}

/// The NUMA node of a device's host memory; warns once if it cannot be used.
std::optional<std::uint64_t> numa_node_of(const gpu::Device& device, const system::Probe& probe, Context& context) {
  Placement slot = placements(NumaChoice::automatic, device.facts().numa_node, probe, context).front();
  bind(slot, NumaChoice::automatic, probe, context);
  return slot.node;
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

/// Device memory of one of the job's GPUs.
std::uint64_t lane_memory(const LoaderSettings& settings) {
  std::uint64_t bytes = tensor_size(settings);
  if (settings.form != SampleForm::tensor) bytes += crops_size(settings);
  if (settings.form == SampleForm::encoded) bytes += settings.batch * sizeof(gpu::CropJob);
  return settings.slots() * bytes;
}

void check_memory(const LoaderSettings& settings, std::span<gpu::Device* const> devices) {
  std::map<gpu::Device*, std::uint64_t> lanes;
  for (std::uint64_t gpu = 0; gpu < settings.gpus; ++gpu) ++lanes[devices[gpu % devices.size()]];
  for (const auto& [device, count] : lanes) {
    const double needed = static_cast<double>(count) * static_cast<double>(lane_memory(settings)) +
                          static_cast<double>(settings.largest_device_jpeg);
    const std::uint64_t usable = device->free_memory() / 10 * 9;
    if (needed <= static_cast<double>(usable)) continue;
    throw Error(ErrorCode::no_space, fmt::format("GPU {}: {} batches of {} samples need {}, but {} of its memory are "
                                                 "free; use a smaller --batch, --prefetch or --dtype, or --device none",
                                                 device->facts().index, count * settings.slots(), settings.batch,
                                                 format_rounded_size(needed), format_size(usable)));
  }
}

/// Host memory of a batch. For SampleForm::crop, one byte per sample with its flip comes before the samples, so that
/// one copy is enough.
class GpuBatchMemory final : public BatchMemory {
 public:
  GpuBatchMemory(gpu::Device& device, const LoaderSettings& settings, std::size_t bytes)
      : head_(head_of(settings)), buffer_(device, kind_of(settings), head_ + bytes) {}

  MutableBytes bytes() override { return buffer_.bytes().subspan(head_); }
  MutableBytes flips() { return buffer_.bytes().first(head_); }
  /// Flips and the first `bytes` of the samples.
  Bytes packed(std::size_t bytes) { return buffer_.bytes().first(head_ + bytes); }

 private:
  std::size_t head_;
  gpu::HostBuffer buffer_;
};

}  // namespace

/// Decodes images into one block of GPU memory, which is reused. One thread at a time.
class GpuSink::Jpegs {
 public:
  /// Both outlive it. `memory` bytes are for pixels; no image needs more.
  Jpegs(gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t memory)
      : decoder_(decoder), memory_(device, memory) {}

  /// Decodes the images that have a route: as many of the first samples as fit into the memory. Returns the number of
  /// samples, at least one. Waits until the pixels of the last call are no longer used.
  std::size_t decode(std::span<RawSample> samples) {
    if (used_ != nullptr) used_->wait();
    const std::size_t count = assign_memory(samples);
    for (const gpu::JpegEngine engine : gpu::kJpegEngines) decode_by(engine, samples.first(count));
    return count;
  }
  /// The pixels of that call's sample; null if it had no route, or the engine failed.
  const std::byte* pixels(std::size_t sample) const { return pixels_[sample]; }
  /// The pixels are used until `event`, which was recorded and outlives this object.
  void used_until(gpu::Event& event) { used_ = &event; }

 private:
  /// Assigns memory for pixels to samples, as many as fit; returns their number.
  std::size_t assign_memory(std::span<const RawSample> samples) {
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

  void decode_by(gpu::JpegEngine engine, std::span<RawSample> samples) {
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

  gpu::DeviceJpegDecoder& decoder_;
  gpu::DeviceBuffer memory_;
  gpu::Event* used_ = nullptr;
  std::vector<std::byte*> pixels_;
};

/// One of the job's GPUs: takes batches, finishes them, computes on them. One thread hands over, another steps. If a
/// device replaces several GPUs, it has as many lanes.
class GpuSink::Lane {
 public:
  /// `jpegs` for SampleForm::encoded, else null; shared by lanes of one device.
  Lane(gpu::Device& device, const LoaderSettings& settings, Jpegs* jpegs)
      : settings_(settings),
        started_(device.make_event()),
        computed_(device.make_event()),
        gate_(device.make_gate()),
        copying_(device.make_stream()),
        finishing_(device.make_stream()),
        computing_(device.make_stream()),
        jpegs_(jpegs) {
    if (jpegs_ != nullptr) jobs_.emplace(device, gpu::HostMemory::pinned, settings.batch * sizeof(gpu::CropJob));
    for (std::size_t i = 0; i < settings.slots(); ++i) {
      slots_.push_back(std::make_unique<Slot>(device, settings));
      free_.push_back(settings.slots() - 1 - i);
    }
  }

  /// Copies a batch to a free slot, has it finished, and returns when the memory may be written again.
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) {
    HandedBatch handed{take_slot(), batch.samples};
    if (settings_.form == SampleForm::encoded) {
      hand_over_encoded(batch, clock, handed);
    } else {
      hand_over_whole(handed.slot, batch);
    }
    return handed;
  }

  /// Whether the data of the slot was already there when this was called.
  bool wait_for(std::size_t slot) {
    gpu::Event& ready = *slots_[slot]->ready;
    if (ready.is_reached()) return true;
    ready.wait();
    return false;
  }

  /// Queues computing on the slot's batch.
  void start_computing(std::size_t slot, std::uint64_t nanoseconds) {
    computing_->wait(*slots_[slot]->ready);
    computing_->spin(*gate_, nanoseconds);
    computing_->record(*computed_);
  }
  /// Ends the current computation early. Nothing is computed afterwards.
  void abandon() { gate_->open(); }
  void wait_for_computing() { computed_->wait(); }

  void release(std::size_t slot) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(slot);
  }

  gpu::DeviceTensor tensor_at(std::size_t slot) const {
    return {slots_[slot]->tensor.span(), settings_.crop, settings_.type};
  }
  const CopyTally& copies() const { return copies_; }

 private:
  struct Slot {
    Slot(gpu::Device& device, const LoaderSettings& settings)
        : tensor(device, tensor_size(settings)), copied(device.make_event()), ready(device.make_event()) {
      if (settings.form != SampleForm::tensor) crops.emplace(device, crops_size(settings));
      if (settings.form == SampleForm::encoded) jobs.emplace(device, settings.batch * sizeof(gpu::CropJob));
    }

    gpu::DeviceBuffer tensor;
    std::optional<gpu::DeviceBuffer> crops;  ///< flips, then levels
    std::optional<gpu::DeviceBuffer> jobs;   ///< crops to cut out of decoded images
    std::unique_ptr<gpu::Event> copied;
    std::unique_ptr<gpu::Event> ready;
  };

  std::size_t take_slot() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) throw std::logic_error("more batches are on the GPU than the prefetch allows");
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void copy(gpu::DeviceSpan to, Bytes from) {
    copying_->copy_to_device(to, from);
    under_way_ += from.size();
  }

  /// Waits for the copies to a slot since `started_`, and counts them.
  void finish_copies(Slot& slot, std::chrono::steady_clock::time_point begin) {
    slot.copied->wait();
    // The driver copies pageable memory itself before it enqueues anything.
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (under_way_ == 0) return;
    ++copies_.copies;
    copies_.bytes += std::exchange(under_way_, 0);
    copies_.seconds += settings_.pinned ? slot.copied->seconds_since(*started_) : passed.count();
  }

  /// One copy of all samples.
  void hand_over_whole(std::size_t index, const OutgoingBatch& batch) {
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

  void normalize(std::size_t index, std::uint64_t samples) {
    Slot& slot = *slots_[index];
    const std::size_t head = head_of(settings_);
    const gpu::DeviceSpan crops = slot.crops->span();
    finishing_->wait(*slot.copied);
    finishing_->normalize(tensor_at(index), samples, crops.part(head, crops.size - head), crops.part(0, head));
    finishing_->record(*slot.ready);
  }

  /// Samples that the GPU decodes, in groups that fit into its memory.
  void hand_over_encoded(const OutgoingBatch& batch, StageClock& clock, HandedBatch& handed) {
    handed.samples = 0;
    for (std::size_t first = 0; first < batch.samples;) {
      clock.enter(Activity::decode);
      const std::size_t count = jpegs_->decode(batch.raw.subspan(first));
      decode_returned(batch, first, count, handed);
      clock.enter(Activity::transfer);
      crop(batch, first, count, handed);
      first += count;
    }
  }

  /// Of `count` samples from `first`, decodes on the CPU those that the GPU could not decode.
  void decode_returned(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed) {
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

  /// Makes samples of the decoded images.
  void crop(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed) {
    Slot& slot = *slots_[handed.slot];
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
    finishing_->crop(tensor_at(handed.slot), to, made);
    finishing_->record(*slot.ready);
    jpegs_->used_until(*slot.ready);
    finish_copies(slot, begin);
  }

  const LoaderSettings& settings_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<gpu::Event> started_;
  std::unique_ptr<gpu::Event> computed_;
  std::unique_ptr<gpu::Gate> gate_;
  std::unique_ptr<gpu::Stream> copying_;
  std::unique_ptr<gpu::Stream> finishing_;
  std::unique_ptr<gpu::Stream> computing_;
  Jpegs* jpegs_;
  std::optional<gpu::HostBuffer> jobs_;  ///< CropJob, one per sample
  image::JpegDecoder decoder_;
  std::vector<bool> returned_;  ///< for samples of the group: the CPU decoded it after the GPU
  CopyTally copies_;
  std::uint64_t under_way_ = 0;  ///< bytes of copies that were not yet waited for
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

GpuSink::GpuSink(const LoaderSettings& settings, std::span<gpu::Device* const> devices,
                 std::span<gpu::DeviceJpegDecoder* const> decoders, const system::Probe& probe, Context& context)
    : settings_(settings), probe_(probe) {
  check_memory(settings_, devices);
  for (std::size_t i = 0; i < devices.size() && i < settings.gpus; ++i) {
    context.throw_if_stopped();
    check_gpu(*devices[i], kind_of(settings_), settings_);
    homes_.push_back({devices[i], numa_node_of(*devices[i], probe, context)});
    if (settings_.form == SampleForm::encoded) {
      jpegs_.push_back(std::make_unique<Jpegs>(*devices[i], *decoders[i], settings_.largest_device_jpeg));
    }
  }
  for (std::uint64_t gpu = 0; gpu < settings.gpus; ++gpu) {
    const std::size_t device = gpu % devices.size();
    Jpegs* const jpegs = jpegs_.empty() ? nullptr : jpegs_[device].get();
    lanes_.push_back(std::make_unique<Lane>(*devices[device], settings_, jpegs));
  }
}

GpuSink::~GpuSink() = default;

std::unique_ptr<BatchMemory> GpuSink::make_memory(std::size_t bytes) {
  const Home& home = homes_[memories_++ % homes_.size()];
  std::optional<system::NumaBinding> binding;
  if (home.node) binding.emplace(*home.node, probe_);
  return std::make_unique<GpuBatchMemory>(*home.device, settings_, bytes);
}

HandedBatch GpuSink::hand_over(const OutgoingBatch& batch, StageClock& clock) {
  HandedBatch handed = lanes_[batch.gpu]->hand_over(batch, clock);
  handed.slot += batch.gpu * settings_.slots();
  return handed;
}

std::optional<BatchSink::Moment> GpuSink::wait_for(std::uint64_t slot) {
  if (lane_of(slot).wait_for(slot % settings_.slots())) return std::nullopt;
  return std::chrono::steady_clock::now();
}

bool GpuSink::compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
  for (const std::uint64_t slot : slots) lane_of(slot).start_computing(slot % settings_.slots(), nanoseconds);
  const bool in_time = wait_until(moment_in(seconds), stop);  // asleep, and stoppable
  for (const std::uint64_t slot : slots) {
    if (!in_time) lane_of(slot).abandon();
    lane_of(slot).wait_for_computing();
  }
  return in_time;
}

void GpuSink::release(std::uint64_t slot) { lane_of(slot).release(slot % settings_.slots()); }

CopyTally GpuSink::copies() const {
  CopyTally sum;
  for (const auto& lane : lanes_) {
    sum.copies += lane->copies().copies;
    sum.bytes += lane->copies().bytes;
    sum.seconds += lane->copies().seconds;
  }
  return sum;
}

gpu::DeviceTensor GpuSink::tensor_at(std::uint64_t slot) const {
  return lane_of(slot).tensor_at(slot % settings_.slots());
}

}  // namespace shardkit::bench
