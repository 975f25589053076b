#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gpu/cuda_queue.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/nvjpeg_library.hpp"

/// How nvJPEG's engines are worked. The device that was current when they were made is current whenever they are used,
/// and when they are destroyed.
namespace shardkit {

/// The decoders in silicon: whole batches. One thread at a time.
class NvjpegHardware {
 public:
  NvjpegHardware(const NvjpegLibrary& nvjpeg, nvjpegHandle_t handle, int device);

  /// The indexes of those that did not decode.
  std::vector<std::size_t> decode(std::span<const DeviceJpeg> jobs);

 private:
  bool decode_batch(std::span<const DeviceJpeg> jobs);
  void decode_halves(std::span<const DeviceJpeg> jobs, std::size_t first, std::vector<std::size_t>& failed);

  const NvjpegLibrary& nvjpeg_;
  nvjpegHandle_t handle_;
  CudaQueue stream_;
  NvjpegOwned<nvjpegJpegState_t> state_;
};

/// What one thread of the CPU needs to decode one image after the other with the hybrid engines: it undoes the entropy
/// coding of one, or prepares that, while the GPU works on the one before. One thread at a time.
class NvjpegWorker {
 public:
  NvjpegWorker(const NvjpegLibrary& nvjpeg, nvjpegHandle_t handle, int device);

  /// False when the image did not decode. The pixels are there after finish().
  bool decode(JpegEngine engine, const DeviceJpeg& job);
  void finish() { stream_.synchronize(); }

 private:
  struct Decoder {
    NvjpegOwned<nvjpegJpegDecoder_t> decoder;
    NvjpegOwned<nvjpegJpegState_t> state;
  };
  /// What the CPU writes while the GPU reads the other.
  struct Page {
    NvjpegOwned<nvjpegJpegStream_t> parsed;
    NvjpegOwned<nvjpegBufferPinned_t> pinned;
  };

  Decoder make_decoder(nvjpegBackend_t backend) const;
  Page make_page() const;

  const NvjpegLibrary& nvjpeg_;
  nvjpegHandle_t handle_;
  CudaQueue stream_;
  NvjpegOwned<nvjpegBufferDevice_t> device_buffer_;
  NvjpegOwned<nvjpegDecodeParams_t> params_;
  std::array<Page, 2> pages_;
  Decoder hybrid_;
  Decoder gpu_hybrid_;
  std::size_t turn_ = 0;
};

/// Where nvJPEG writes an image's pixels.
nvjpegImage_t nvjpeg_target(const DeviceImage& image);

inline const unsigned char* nvjpeg_bytes(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

}  // namespace shardkit
