#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "gpu/device_jpeg_decoder.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit_test {

/// nvJPEG over a FakeDevice, whose memory the host can write: libjpeg-turbo decodes, and every test says what goes
/// wrong. What a real one would forgive at times throws std::logic_error here: two calls of decode() at once, an image
/// that engine_for() gave no engine or another one, too little memory, memory of two images that overlaps.
class FakeJpegDecoder final : public shardkit::gpu::DeviceJpegDecoder {
 public:
  using Chosen = std::function<bool(shardkit::Bytes)>;
  struct Settings {
    bool video_library = true;  ///< the driver's, which hardware decoders need
    bool hardware = true;       ///< has decoders in silicon, which take baseline images of the usual subsampling
    Chosen refused = {};        ///< these are taken by no engine
    Chosen failing = {};        ///< these are taken, but do not decode
    Chosen skipped = {};        ///< these are said to be decoded, and not a byte is written
    Chosen inverted = {};       ///< these come out as their negative
    bool plain_chroma = false;  ///< chroma is repeated, not smoothed
  };

  FakeJpegDecoder() : FakeJpegDecoder(Settings{}) {}
  explicit FakeJpegDecoder(const Settings& settings)
      : settings_(settings), decoder_({.smooth_chroma = !settings.plain_chroma}) {}

  shardkit::gpu::JpegDecoderFacts facts() const override;
  std::optional<shardkit::gpu::JpegEngine> engine_for(shardkit::Bytes encoded) override;
  std::vector<std::size_t> decode(shardkit::gpu::JpegEngine engine,
                                  std::span<const shardkit::gpu::DeviceJpeg> jobs) override;

  /// Of all calls of decode(), the most images that came at once.
  std::size_t largest_batch() const { return largest_batch_; }
  /// Images that an engine was given, those that did not decode among them.
  std::size_t given(shardkit::gpu::JpegEngine engine) const;

 private:
  bool decode_one(const shardkit::gpu::DeviceJpeg& job);

  const Settings settings_;
  shardkit::image::JpegDecoder decoder_;
  std::atomic<bool> busy_{false};
  std::size_t largest_batch_ = 0;
  std::map<shardkit::gpu::JpegEngine, std::size_t> given_;
};

/// The same decoder for code that wants one of its own.
std::unique_ptr<shardkit::gpu::DeviceJpegDecoder> lend(FakeJpegDecoder& decoder);

}  // namespace shardkit_test
