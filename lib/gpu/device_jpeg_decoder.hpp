#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"

/// JPEGs decoded into a GPU's memory. nvJPEG stands behind it, in tests libjpeg-turbo
/// (tests/support/fake_jpeg_decoder.hpp).
namespace shardkit::gpu {

/// The ways in which a GPU decodes.
enum class JpegEngine {
  hardware,   ///< decoders in silicon (A100, H100 and later): baseline only
  hybrid,     ///< entropy coding is undone on the CPU, the rest on the GPU: small images
  gpu_hybrid  ///< that too on the GPU: large images, baseline only
};
constexpr auto enum_names(JpegEngine) { return std::to_array<std::string_view>({"hardware", "hybrid", "gpu-hybrid"}); }

inline constexpr std::array kJpegEngines{JpegEngine::hardware, JpegEngine::hybrid, JpegEngine::gpu_hybrid};

/// Images of fewer pixels have too little work for a GPU to undo their entropy coding.
inline constexpr std::uint64_t kGpuHybridPixels = 1'000'000;

/// The engine without hardware that suits an image of so many pixels, and whether it is a baseline one.
constexpr JpegEngine software_engine(std::uint64_t pixels, bool baseline) {
  return baseline && pixels >= kGpuHybridPixels ? JpegEngine::gpu_hybrid : JpegEngine::hybrid;
}

/// RGB of 8 bits, three values a pixel, rows without gaps, in the GPU's memory.
struct DeviceImage {
  DeviceSpan pixels;  ///< width * height * 3 bytes at least
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// A JPEG and where its pixels are to go. Sides as its header has them (image/jpeg_header.hpp).
struct DeviceJpeg {
  Bytes encoded;
  DeviceImage image;
};

/// What decodes.
struct JpegDecoderFacts {
  std::string library;                            ///< "nvJPEG 13.0.1 (libnvjpeg.so.13)"
  bool hardware = false;                          ///< has decoders in silicon
  std::optional<std::uint64_t> hardware_engines;  ///< how many, where the library tells
};

/// Destroyed before its Device.
class DeviceJpegDecoder {
 public:
  virtual ~DeviceJpegDecoder() = default;
  virtual JpegDecoderFacts facts() const = 0;

  /// The engine that takes this image, by its header; empty where the CPU has to decode it: other formats, damaged
  /// headers, CMYK, 12 bits, arithmetic coding, subsampling that no engine knows, sides that the library reads
  /// otherwise than image/jpeg_header.hpp. Thread-safe.
  virtual std::optional<JpegEngine> engine_for(Bytes encoded) = 0;

  /// Decodes images that engine_for() gave this engine, and returns when all pixels are there. Nothing else uses the
  /// memory meanwhile: hardware does not wait for the work of streams. Returns, in order, the indexes of those that it
  /// could not decode, whose memory holds anything: they are the caller's to decode on the CPU. Throws Error{io}, and
  /// Error{no_space} where memory is short. One thread at a time.
  virtual std::vector<std::size_t> decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) = 0;
};

/// A decoder into memory of this GPU, with as many threads of the CPU as `threads` for what hybrid engines do there.
/// Throws Error{unsupported} whose one line says what is missing: nvJPEG in this build, its library, one that is new
/// enough.
std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device& device, unsigned threads);

}  // namespace shardkit::gpu
