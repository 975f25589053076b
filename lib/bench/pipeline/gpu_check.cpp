#include "bench/pipeline/gpu_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/pattern.hpp"
#include "gpu/tensor_math.hpp"
#include "image/augment.hpp"
#include "image/resize.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kPatternBytes = (std::size_t{1} << 20U) + 3;
constexpr std::uint32_t kSide = 37;  // not a multiple of the kernels' block sizes
constexpr std::size_t kCropBytes = std::size_t{kSide} * kSide * 3;
constexpr std::size_t kSamples = 4;

[[noreturn]] void fail(const gpu::Device& device, const std::string& text) {
  throw Error(ErrorCode::corrupt, fmt::format("GPU {} ({}) {}", device.facts().index, device.facts().name, text));
}

void upload(gpu::Device& device, gpu::DeviceSpan to, Bytes from) {
  const auto stream = device.make_stream();
  stream->copy_to_device(to, from);
  stream->synchronize();
}

void check_copies(gpu::Device& device, gpu::HostMemory kind) {
  constexpr std::uint64_t kSeed = 5;
  const gpu::HostBuffer host(device, kind, kPatternBytes);
  const gpu::DeviceBuffer memory(device, kPatternBytes);
  gpu::fill_pattern(host.bytes(), kSeed);
  upload(device, memory.span(), host.bytes());
  if (const std::uint64_t wrong = device.count_mismatches(memory.span(), kSeed); wrong > 0) {
    fail(device, fmt::format("has {} wrong bytes of {} that were copied to it", wrong, kPatternBytes));
  }
}

/// Levels of crops on the host and there; the flips are 0, 1, 0, 1.
class Specimen {
 public:
  explicit Specimen(gpu::Device& device)
      : host_(device, gpu::HostMemory::pageable, kSamples + kSamples * kCropBytes),
        there_(device, host_.bytes().size()) {
    Prng prng(11);
    for (std::byte& level : host_.bytes()) level = static_cast<std::byte>(prng.next());
    for (std::size_t i = 0; i < kSamples; ++i) host_.bytes()[i] = std::byte{flip(i)};
    upload(device, there_.span(), host_.bytes());
  }

  static bool flip(std::size_t sample) { return sample % 2 == 1; }
  image::PixelView view(std::size_t sample) const {
    const auto* levels = reinterpret_cast<const std::uint8_t*>(host_.bytes().data() + kSamples + sample * kCropBytes);
    return {{levels, kCropBytes}, kSide, kSide};
  }
  gpu::DeviceSpan flips() const { return there_.span().part(0, kSamples); }
  gpu::DeviceSpan crops() const { return there_.span().part(kSamples, kSamples * kCropBytes); }

 private:
  gpu::HostBuffer host_;
  gpu::DeviceBuffer there_;
};

void compare(gpu::Device& device, gpu::DeviceSpan made, Bytes expected, std::string_view what) {
  std::vector<std::byte> back(expected.size());
  const auto stream = device.make_stream();
  stream->copy_to_host(back, made);
  stream->synchronize();
  const auto [found, wanted] = std::ranges::mismatch(back, expected);
  if (found == back.end()) return;
  fail(device, fmt::format("{} differently from the CPU, from byte {} of {} onwards: its batches would be different",
                           what, found - back.begin(), back.size()));
}

void check_normalizing(gpu::Device& device, const LoaderSettings& settings) {
  const Specimen specimen(device);
  const std::size_t sample = kCropBytes * image::value_bytes(settings.type);
  std::vector<std::byte> expected(kSamples * sample);
  image::Augmenter augmenter(settings.type);
  for (std::size_t i = 0; i < kSamples; ++i) {
    augmenter.augment(specimen.view(i), Specimen::flip(i), std::span(expected).subspan(i * sample, sample));
  }
  const gpu::DeviceBuffer tensor(device, expected.size());
  const auto stream = device.make_stream();
  stream->normalize({tensor.span(), kSide, settings.type}, kSamples, specimen.crops(), specimen.flips());
  stream->synchronize();
  compare(device, tensor.span(), expected, "normalizes");
}

/// Parts of one image, made larger and smaller.
void check_cropping(gpu::Device& device, const LoaderSettings& settings) {
  constexpr std::array<image::CropBox, 3> kBoxes{{{0, 0, kSide, kSide}, {3, 5, 30, 11}, {36, 0, 1, kSide}}};
  const Specimen specimen(device);
  const std::size_t sample = kCropBytes * image::value_bytes(settings.type);
  std::vector<std::byte> expected(kBoxes.size() * sample);
  std::vector<gpu::CropJob> jobs;
  image::Augmenter augmenter(settings.type);
  image::BilinearResizer resizer;
  std::vector<std::uint8_t> crop(kCropBytes);
  for (std::size_t i = 0; i < kBoxes.size(); ++i) {
    const bool flip = Specimen::flip(i);
    resizer.resize(specimen.view(0), kBoxes[i], kSide, kSide, crop);
    augmenter.augment({crop, kSide, kSide}, flip, std::span(expected).subspan(i * sample, sample));
    jobs.push_back(gpu::crop_job(specimen.crops().data, kSide, kBoxes[i], flip, i, kSide));
  }
  const gpu::DeviceBuffer there(device, jobs.size() * sizeof(gpu::CropJob));
  const gpu::DeviceBuffer tensor(device, expected.size());
  const auto stream = device.make_stream();
  stream->copy_to_device(there.span(), std::as_bytes(std::span(jobs)));
  stream->crop({tensor.span(), kSide, settings.type}, there.span(), jobs.size());
  stream->synchronize();
  compare(device, tensor.span(), expected, "crops");
}

}  // namespace

void check_gpu(gpu::Device& device, gpu::HostMemory memory, const LoaderSettings& settings) {
  check_copies(device, memory);
  if (settings.form == SampleForm::crop) check_normalizing(device, settings);
  if (settings.form == SampleForm::encoded) check_cropping(device, settings);
}

}  // namespace shardkit::bench
