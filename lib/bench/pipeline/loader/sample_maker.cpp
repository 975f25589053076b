#include "bench/pipeline/loader/sample_maker.hpp"

#include <cstring>

#include "image/random_crop.hpp"

namespace shardkit {

SampleMaker::SampleMaker(const LoaderSettings& settings, SampleBuffers& buffers, std::uint64_t seed)
    : settings_(settings), buffers_(buffers), augmenter_(settings.type, settings.layout), prng_(seed) {}

bool SampleMaker::begin(SampleBuffer image, DecodeFailures& failures) {
  decoded_ = {};
  route_.reset();
  if (settings_.decode == DecodeKind::nvjpeg) {
    route_ = route_jpeg(*settings_.jpegs, image.bytes());
    if (route_ && route_->bytes() > settings_.largest_device_jpeg) route_.reset();
  }
  if (route_) {
    box_ = draw_resized_crop(route_->width, route_->height, prng_);
    jpeg_ = std::move(image);
    return true;
  }
  if (settings_.decode != DecodeKind::null) {
    decoded_ = decoder_.decode_random_crop(image.bytes(), prng_, settings_.crop);
    failures.add(decoded_.failure);
  }
  buffers_.give_back(std::move(image));
  return settings_.decode == DecodeKind::null || decoded_.has_pixels();
}

void SampleMaker::finish(const BatchSlot& slot) {
  if (settings_.decode == DecodeKind::null) return;
  const bool flip = draw_flip(prng_);
  if (settings_.form == SampleForm::tensor) {
    augmenter_.augment(decoded_.pixels, flip, slot.sample);
    return;
  }
  slot.raw->flip = flip;
  slot.raw->route = route_;
  if (route_) {
    slot.raw->box = box_;
    slot.raw->jpeg = std::move(jpeg_);
    return;
  }
  if (settings_.decode == DecodeKind::nvjpeg) ++refused_;
  std::memcpy(slot.sample.data(), decoded_.pixels.bytes.data(), decoded_.pixels.bytes.size());
}

}  // namespace shardkit
