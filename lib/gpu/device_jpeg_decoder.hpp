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

/// Decodes JPEGs into GPU memory. Implemented with nvJPEG, and in tests with libjpeg-turbo
/// (tests/support/fake_jpeg_decoder.hpp).
namespace shardkit::gpu {

/// How a GPU decodes.
enum class JpegEngine {
  hardware,   ///< hardware decoders (A100, A30, Ada, Hopper and later): baseline only
  hybrid,     ///< entropy decoding on the CPU, the rest on the GPU: small images
  gpu_hybrid  ///< entropy decoding also on the GPU: large images, baseline only
};
constexpr auto enum_names(JpegEngine) { return std::to_array<std::string_view>({"hardware", "hybrid", "gpu-hybrid"}); }

inline constexpr std::array kJpegEngines{JpegEngine::hardware, JpegEngine::hybrid, JpegEngine::gpu_hybrid};

/// Images with fewer pixels have too little work for entropy decoding on a GPU.
inline constexpr std::uint64_t kGpuHybridPixels = 1'000'000;

/// The engine without hardware decoders for an image with these pixels that is baseline or not.
constexpr JpegEngine software_engine(std::uint64_t pixels, bool baseline) {
  return baseline && pixels >= kGpuHybridPixels ? JpegEngine::gpu_hybrid : JpegEngine::hybrid;
}

/// RGB of 8 bits, three values a pixel, rows without gaps, in the GPU's memory.
struct DeviceImage {
  DeviceSpan pixels;  ///< width * height * 3 bytes at least
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// A JPEG and the target of its pixels. Dimensions as in its header (image/image_header.hpp).
struct DeviceJpeg {
  Bytes encoded;
  DeviceImage image;
};

/// The decoder.
struct JpegDecoderFacts {
  std::string library;                            ///< "nvJPEG 13.0.1 (libnvjpeg.so.13)"
  bool hardware = false;                          ///< has hardware decoders
  std::optional<std::uint64_t> hardware_engines;  ///< how many, if the library reports it
  bool video_library = true;                      ///< libnvcuvid, which hardware decoders need, can be loaded
};

/// Destroyed before its Device.
class DeviceJpegDecoder {
 public:
  virtual ~DeviceJpegDecoder() = default;
  virtual JpegDecoderFacts facts() const = 0;

  /// The engine for this image, from its header; empty if the CPU must decode it: other formats, damaged headers, CMYK,
  /// 12 bits, arithmetic coding, unsupported subsampling, or dimensions that the library reads differently from
  /// image/image_header.hpp. Thread-safe.
  virtual std::optional<JpegEngine> engine_for(Bytes encoded) = 0;

  /// Decodes images for which engine_for() returned this engine, and returns when all pixels are there. Nothing else
  /// may use the memory, because hardware decoders do not wait for streams. Returns, in order, the indexes of those
  /// that it could not decode, whose memory is undefined: the caller decodes them on the CPU. Throws Error{io}, and
  /// Error{no_space} if there is not enough memory. One thread at a time.
  virtual std::vector<std::size_t> decode(JpegEngine engine, std::span<const DeviceJpeg> jobs) = 0;
};

/// A decoder into memory of this GPU, with `threads` CPU threads for hybrid engines. Throws Error{unsupported} with one
/// line that names what is missing: nvJPEG in this build, its library, a newer one.
std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device& device, unsigned threads);

}  // namespace shardkit::gpu
