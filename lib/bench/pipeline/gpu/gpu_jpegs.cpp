#include "bench/pipeline/gpu/gpu_jpegs.hpp"

namespace shardkit {

GpuJpegs::GpuJpegs(Device& device, DeviceJpegDecoder& decoder, std::uint64_t memory)
    : decoder_(decoder), memory_(device, memory) {}

std::size_t GpuJpegs::place(std::span<const RawSample> samples) {
  pixels_.assign(samples.size(), nullptr);
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].route) continue;
    if (i > 0 && used + samples[i].route->bytes() > memory_.span().size) return i;
    pixels_[i] = memory_.span().data + used;
    used += device_stride(samples[i].route->bytes());
  }
  return samples.size();
}

void GpuJpegs::decode_by(JpegEngine engine, std::span<RawSample> samples) {
  std::vector<DeviceJpeg> jobs;
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
  const std::size_t count = place(samples);
  for (const JpegEngine engine : kJpegEngines) decode_by(engine, samples.first(count));
  return count;
}

}  // namespace shardkit
