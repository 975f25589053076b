#include "gpu/device_tensor.hpp"

#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "gpu/device.hpp"
#include "image/resize.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit_test;

namespace {

constexpr std::uint32_t kSide = 37;  // no multiple of anything
constexpr std::size_t kCropBytes = std::size_t{kSide} * kSide * 3;

std::vector<std::uint8_t> levels(std::size_t count, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::uint8_t> values(count);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(prng.next());
  return values;
}

std::unique_ptr<DeviceBuffer> on_device(Device& device, Bytes bytes) {
  auto memory = std::make_unique<DeviceBuffer>(device, bytes.size());
  const auto stream = device.make_stream();
  stream->copy_to_device(memory->span(), bytes);
  stream->synchronize();
  return memory;
}

std::vector<std::byte> on_host(Device& device, DeviceSpan memory) {
  std::vector<std::byte> bytes(memory.size);
  const auto stream = device.make_stream();
  stream->copy_to_host(bytes, memory);
  stream->synchronize();
  return bytes;
}

/// Calls `check(type)` for every type of values.
void for_each_type(const auto& check) {
  for (const TensorType type : {TensorType::u8, TensorType::f16, TensorType::f32}) {
    CAPTURE(enum_name(type));
    check(type);
  }
}

/// Every level of every channel, mirrored and not.
void check_normalizing(Device& device) {
  constexpr std::uint64_t kSamples = 3;
  const auto crops = levels(kSamples * kCropBytes, 1);
  const std::vector<std::uint8_t> flips{0, 1, 0};
  const auto crops_there = on_device(device, std::as_bytes(std::span(crops)));
  const auto flips_there = on_device(device, std::as_bytes(std::span(flips)));
  for_each_type([&](TensorType type) {
    const std::size_t sample = kCropBytes * value_bytes(type);
    std::vector<std::byte> expected(kSamples * sample);
    Augmenter augmenter(type);
    for (std::size_t i = 0; i < kSamples; ++i) {
      const PixelView view{std::span(crops).subspan(i * kCropBytes, kCropBytes), kSide, kSide};
      augmenter.augment(view, flips[i] != 0, std::span(expected).subspan(i * sample, sample));
    }
    const DeviceBuffer tensor(device, expected.size());
    const auto stream = device.make_stream();
    stream->normalize({tensor.span(), kSide, type}, kSamples, crops_there->span(), flips_there->span());
    stream->synchronize();
    CHECK(on_host(device, tensor.span()) == expected);
  });
}

/// Parts of an image, made larger, smaller, as they are and of one pixel.
void check_cropping(Device& device) {
  constexpr std::uint32_t kWidth = 91;
  constexpr std::uint32_t kHeight = 64;
  auto image = levels(std::size_t{kWidth} * kHeight * 3 + BilinearResizer::kReadBeyond, 2);
  const PixelView view{std::span(image).first(std::size_t{kWidth} * kHeight * 3), kWidth, kHeight};
  const auto image_there = on_device(device, std::as_bytes(std::span(image)));
  const std::vector<CropBox> boxes{{0, 0, kWidth, kHeight}, {5, 7, 11, 50}, {90, 63, 1, 1},
                                   {20, 10, kSide, kSide},  {0, 60, 91, 4}, {44, 0, 47, 64}};
  std::vector<CropJob> jobs;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::size_t sample = boxes.size() - 1 - i;  // in another order than they stand in
    jobs.push_back(crop_job(image_there->span().data, kWidth, boxes[i], i % 2 == 1, sample, kSide));
  }
  const auto jobs_there = on_device(device, std::as_bytes(std::span(jobs)));
  for_each_type([&](TensorType type) {
    const std::size_t sample = kCropBytes * value_bytes(type);
    std::vector<std::byte> expected(boxes.size() * sample);
    Augmenter augmenter(type);
    BilinearResizer resizer;
    std::vector<std::uint8_t> crop(kCropBytes);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      resizer.resize(view, boxes[i], kSide, kSide, crop);
      augmenter.augment({crop, kSide, kSide}, i % 2 == 1, std::span(expected).subspan(jobs[i].sample * sample, sample));
    }
    const DeviceBuffer tensor(device, expected.size());
    const auto stream = device.make_stream();
    stream->crop({tensor.span(), kSide, type}, jobs_there->span(), jobs.size());
    stream->synchronize();
    CHECK(on_host(device, tensor.span()) == expected);
  });
}

}  // namespace

TEST_CASE("normalizing on the GPU gives the processor's bits, for every type and flip") {
  FakeDevice device;
  check_normalizing(device);
  CHECK(device.allocations() == 0);
}

TEST_CASE("cropping and resizing on the GPU gives the processor's bits") {
  FakeDevice device;
  check_cropping(device);
}

TEST_CASE("a crop that has the tensor's side already stays as it is") {
  const auto crop = levels(kCropBytes, 3);
  const PixelView view{crop, kSide, kSide};
  std::vector<std::byte> expected(kCropBytes);
  Augmenter(TensorType::u8).augment(view, false, expected);
  FakeDevice device;
  const auto there = on_device(device, std::as_bytes(std::span(crop)));
  const CropJob job = crop_job(there->span().data, kSide, {0, 0, kSide, kSide}, false, 0, kSide);
  const auto jobs = on_device(device, std::as_bytes(std::span(&job, 1)));
  const DeviceBuffer tensor(device, kCropBytes);
  const auto stream = device.make_stream();
  stream->crop({tensor.span(), kSide, TensorType::u8}, jobs->span(), 1);
  stream->synchronize();
  CHECK(on_host(device, tensor.span()) == expected);
}

TEST_CASE("a real GPU, where there is one, gives them too, and spins for as long as it is asked to") {
  std::vector<std::unique_ptr<Device>> devices;
  const auto failure = failure_of([&] { devices = open_devices(); });
  if (failure.failed) {
    MESSAGE("SKIPPED: " << failure.text);
    return;
  }
  Device& device = *devices.front();
  check_normalizing(device);
  check_cropping(device);
  const auto stream = device.make_stream();
  const auto gate = device.make_gate();
  const auto start = device.make_event();
  const auto end = device.make_event();
  stream->record(*start);
  stream->spin(*gate, 20'000'000);
  stream->record(*end);
  CHECK_FALSE(end->is_reached());
  end->wait();
  CHECK(end->is_reached());
  CHECK(end->seconds_since(*start) >= 0.02);
  gate->open();
  stream->spin(*gate, 3'600'000'000'000);  // which would be an hour
  stream->synchronize();
}

TEST_CASE("the fake device takes a stream to task that does not wait for another one's work") {
  FakeDevice device;
  const DeviceBuffer memory(device, 3);
  const std::vector<std::byte> bytes(3);
  const auto one = device.make_stream();
  const auto other = device.make_stream();
  const auto event = device.make_event();
  std::vector<std::byte> back(3);
  one->copy_to_device(memory.span(), bytes);
  one->record(*event);
  SUBCASE("an event orders them") {
    other->wait(*event);
    other->copy_to_host(back, memory.span());
    other->synchronize();
  }
  SUBCASE("so does the host, when it waits between them") {
    event->wait();
    other->copy_to_host(back, memory.span());
    other->synchronize();
  }
  SUBCASE("nothing does") {
    other->copy_to_host(back, memory.span());
    one->synchronize();
    CHECK_THROWS_AS(other->synchronize(), std::logic_error);
  }
}
