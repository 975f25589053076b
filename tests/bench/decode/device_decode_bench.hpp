#pragma once

#include <memory>
#include <string>

#include "bench/decode/decode.hpp"
#include "support/fake_device.hpp"
#include "support/fake_jpeg_decoder.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace shardkit_test {

/// A folder of images, a GPU and its decoder.
struct DeviceDecodeBench {
  explicit DeviceDecodeBench(const FakeJpegDecoder::Settings& settings = {},
                             const FakeDevice::Settings& device_settings = {})
      : device(device_settings),
        decoder(settings),
        machine{shardkit::system::live_probe(), {&device}, [this](const auto&, unsigned) { return lend(decoder); }} {
    options.paths = {dir.path()};
    options.backend = shardkit::bench::DecodeBackend::nvjpeg;
    options.threads = 2;
    options.min_seconds = 0;  // each image once
  }

  void write(const std::string& name, const std::string& bytes) const { write_file(dir.path(name), bytes); }

  shardkit::bench::DecodeResult run() { return run(context); }
  shardkit::bench::DecodeResult run(shardkit::Context& with) {
    return decode_on_device(options, shardkit::bench::find_input(options.paths, with), machine, with);
  }

  TempDir dir;
  FakeDevice device;
  FakeJpegDecoder decoder;
  shardkit::bench::GpuMachine machine;
  shardkit::bench::DecodeBenchOptions options;
  shardkit::Context context;
};

/// What is asked of a decoder with an image that is exactly these bytes.
inline FakeJpegDecoder::Chosen is_image(const std::string& bytes) {
  return [bytes](shardkit::Bytes jpeg) { return shardkit::as_text(jpeg) == bytes; };
}

}  // namespace shardkit_test
