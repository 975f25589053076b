#include "bench/pipeline/gpu/gpu_check.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/host_buffer.hpp"
#include "gpu/pattern.hpp"
#include "image/augment.hpp"
#include "image/resize.hpp"

namespace shardkit {
namespace {

constexpr std::size_t kPatternBytes = (std::size_t{1} << 20U) + 3;
constexpr std::uint32_t kSide = 37;  // no multiple of what kernels are cut into
constexpr std::size_t kCropBytes = std::size_t{kSide} * kSide * 3;
constexpr std::size_t kSamples = 4;

[[noreturn]] void fail(const Device& device, const std::string& text) {
  throw Error(ErrorCode::corrupt, fmt::format("GPU {} ({}) {}", device.facts().index, device.facts().name, text));
}

void check_copies(Device& device, HostMemory kind) {
  constexpr std::uint64_t kSeed = 5;
  const HostBuffer host(device, kind, kPatternBytes);
  const DeviceBuffer memory(device, kPatternBytes);
  fill_pattern(host.bytes(), kSeed);
  const auto stream = device.make_stream();
  stream->copy_to_device(memory.span(), host.bytes());
  stream->synchronize();
  if (const std::uint64_t wrong = device.count_mismatches(memory.span(), kSeed); wrong > 0) {
    fail(device, fmt::format("holds {} wrong bytes of {} that were copied to it", wrong, kPatternBytes));
  }
}

/// Levels of crops on the host and there; the flips are 0, 1, 0, 1.
class Specimen {
 public:
  explicit Specimen(Device& device)
      : host_(device, HostMemory::pageable, kSamples + kSamples * kCropBytes), there_(device, host_.bytes().size()) {
    Prng prng(11);
    for (std::byte& level : host_.bytes()) level = static_cast<std::byte>(prng.next());
    for (std::size_t i = 0; i < kSamples; ++i) host_.bytes()[i] = std::byte{flip(i)};
    const auto stream = device.make_stream();
    stream->copy_to_device(there_.span(), host_.bytes());
    stream->synchronize();
  }

  static bool flip(std::size_t sample) { return sample % 2 == 1; }
  PixelView view(std::size_t sample) const {
    const auto* levels = reinterpret_cast<const std::uint8_t*>(host_.bytes().data() + kSamples + sample * kCropBytes);
    return {{levels, kCropBytes}, kSide, kSide};
  }
  DeviceSpan flips() const { return there_.span().part(0, kSamples); }
  DeviceSpan crops() const { return there_.span().part(kSamples, kSamples * kCropBytes); }

 private:
  HostBuffer host_;
  DeviceBuffer there_;
};

void compare(Device& device, DeviceSpan made, Bytes expected, std::string_view what) {
  std::vector<std::byte> back(expected.size());
  const auto stream = device.make_stream();
  stream->copy_to_host(back, made);
  stream->synchronize();
  const auto [found, wanted] = std::ranges::mismatch(back, expected);
  if (found == back.end()) return;
  fail(device, fmt::format("{} otherwise than the processor, from byte {} of {} on: its batches would be other ones",
                           what, found - back.begin(), back.size()));
}

void check_normalising(Device& device, const GpuSinkSettings& settings) {
  const Specimen specimen(device);
  const std::size_t sample = kCropBytes * value_bytes(settings.type);
  std::vector<std::byte> expected(kSamples * sample);
  Augmenter augmenter(settings.type, settings.layout);
  for (std::size_t i = 0; i < kSamples; ++i) {
    augmenter.augment(specimen.view(i), Specimen::flip(i), std::span(expected).subspan(i * sample, sample));
  }
  const DeviceBuffer tensor(device, expected.size());
  const auto stream = device.make_stream();
  stream->normalise({tensor.span(), kSide, settings.type, settings.layout}, kSamples, specimen.crops(),
                    specimen.flips());
  stream->synchronize();
  compare(device, tensor.span(), expected, "normalises");
}

/// Parts of one image, made larger and smaller.
void check_cropping(Device& device, const GpuSinkSettings& settings) {
  constexpr std::array<CropBox, 3> kBoxes{{{0, 0, kSide, kSide}, {3, 5, 30, 11}, {36, 0, 1, kSide}}};
  const Specimen specimen(device);
  const std::size_t sample = kCropBytes * value_bytes(settings.type);
  std::vector<std::byte> expected(kBoxes.size() * sample);
  std::vector<CropJob> jobs;
  Augmenter augmenter(settings.type, settings.layout);
  BilinearResizer resizer;
  std::vector<std::uint8_t> crop(kCropBytes);
  for (std::size_t i = 0; i < kBoxes.size(); ++i) {
    const bool flip = Specimen::flip(i);
    resizer.resize(specimen.view(0), kBoxes[i], kSide, kSide, crop);
    augmenter.augment({crop, kSide, kSide}, flip, std::span(expected).subspan(i * sample, sample));
    jobs.push_back(crop_job(specimen.crops().data, kSide, kBoxes[i], flip, i, kSide));
  }
  const DeviceBuffer there(device, jobs.size() * sizeof(CropJob));
  const DeviceBuffer tensor(device, expected.size());
  const auto stream = device.make_stream();
  stream->copy_to_device(there.span(), std::as_bytes(std::span(jobs)));
  stream->crop({tensor.span(), kSide, settings.type, settings.layout}, there.span(), jobs.size());
  stream->synchronize();
  compare(device, tensor.span(), expected, "crops");
}

}  // namespace

void check_gpu(Device& device, const GpuSinkSettings& settings) {
  check_copies(device, settings.pinned ? HostMemory::pinned : HostMemory::pageable);
  if (settings.form == SampleForm::crop) check_normalising(device, settings);
  if (settings.form == SampleForm::encoded) check_cropping(device, settings);
}

}  // namespace shardkit
