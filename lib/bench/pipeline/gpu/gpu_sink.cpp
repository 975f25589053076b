#include "bench/pipeline/gpu/gpu_sink.hpp"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/pipeline/gpu/gpu_check.hpp"
#include "bench/pipeline/gpu/gpu_jpegs.hpp"
#include "bench/pipeline/gpu/gpu_lane.hpp"
#include "bench/timing/precise_wait.hpp"
#include "bench/timing/timed_run.hpp"
#include "bench/transfer/placement.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

/// Where a device's host memory comes from; what hinders that is warned of here, once.
std::optional<std::uint64_t> node_of(const Device& device, const Probe& probe, Context& context) {
  Placement place = placements(NumaChoice::automatic, device.facts().numa_node, probe, context).front();
  bind(place, NumaChoice::automatic, probe, context);
  return place.node;
}

void check_memory(const GpuSinkSettings& settings, std::span<Device* const> devices) {
  std::map<Device*, std::uint64_t> lanes;
  for (std::uint64_t gpu = 0; gpu < settings.gpus; ++gpu) ++lanes[devices[gpu % devices.size()]];
  for (const auto& [device, count] : lanes) {
    const double needed = static_cast<double>(count) * static_cast<double>(GpuLane::memory(settings)) +
                          static_cast<double>(settings.jpeg_memory);
    const std::uint64_t usable = device->free_memory() / 10 * 9;
    if (needed <= static_cast<double>(usable)) continue;
    throw Error(ErrorCode::no_space,
                fmt::format("GPU {}: {} batches of {} samples take {} there, and {} of its memory are free for them; a "
                            "smaller --batch, --prefetch or --dtype fits, and --sink host needs none",
                            device->facts().index, count * settings.places, settings.batch, format_rounded_size(needed),
                            format_size(usable)));
  }
}

}  // namespace

GpuSink::GpuSink(const GpuSinkSettings& settings, std::span<Device* const> devices,
                 std::span<DeviceJpegDecoder* const> decoders, const Probe& probe, Context& context)
    : settings_(settings), probe_(probe) {
  check_memory(settings_, devices);
  for (std::size_t i = 0; i < devices.size() && i < settings.gpus; ++i) {
    context.throw_if_stopped();
    check_gpu(*devices[i], settings_);
    homes_.push_back({devices[i], node_of(*devices[i], probe, context)});
    if (settings_.form == SampleForm::encoded) {
      jpegs_.push_back(std::make_unique<GpuJpegs>(*devices[i], *decoders[i], settings_.jpeg_memory));
    }
  }
  for (std::uint64_t gpu = 0; gpu < settings.gpus; ++gpu) {
    const std::size_t device = gpu % devices.size();
    GpuJpegs* const jpegs = jpegs_.empty() ? nullptr : jpegs_[device].get();
    lanes_.push_back(std::make_unique<GpuLane>(*devices[device], settings_, jpegs));
  }
}

GpuSink::~GpuSink() = default;

std::unique_ptr<BatchMemory> GpuSink::make_memory(std::size_t bytes) {
  const Home& home = homes_[memories_++ % homes_.size()];
  std::optional<NumaBinding> binding;
  if (home.node) binding.emplace(*home.node, probe_);
  return std::make_unique<GpuBatchMemory>(*home.device, settings_, bytes);
}

HandedBatch GpuSink::hand_over(const OutgoingBatch& batch, StageClock& clock) {
  HandedBatch handed = lanes_[batch.gpu]->bring(batch, clock);
  handed.place += batch.gpu * settings_.places;
  return handed;
}

std::optional<BatchSink::Moment> GpuSink::wait_for(std::uint64_t place) {
  if (lane_of(place).wait_for(place % settings_.places)) return std::nullopt;
  return std::chrono::steady_clock::now();
}

bool GpuSink::compute(std::span<const std::uint64_t> places, double seconds, const std::stop_token& stop) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
  for (const std::uint64_t place : places) lane_of(place).start_computing(place % settings_.places, nanoseconds);
  const bool in_time = wait_until(moment_in(seconds), stop);  // asleep, and stoppable
  for (const std::uint64_t place : places) {
    if (!in_time) lane_of(place).abandon();
    lane_of(place).wait_for_computing();
  }
  return in_time;
}

void GpuSink::release(std::uint64_t place) { lane_of(place).release(place % settings_.places); }

CopyTally GpuSink::copies() const {
  CopyTally sum;
  for (const auto& lane : lanes_) {
    sum.copies += lane->copies().copies;
    sum.bytes += lane->copies().bytes;
    sum.seconds += lane->copies().seconds;
  }
  return sum;
}

DeviceTensor GpuSink::tensor_at(std::uint64_t place) const {
  return lane_of(place).tensor_at(place % settings_.places);
}

}  // namespace shardkit
