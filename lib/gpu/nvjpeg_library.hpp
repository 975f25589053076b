#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/shared_library.hpp"

namespace shardkit::gpu {

// What shardkit uses of nvJPEG. Declared here, so that its header is not needed to build: the interface is stable under
// the two names that are loaded. tests/gpu/nvjpeg_header_test.cpp compares all of it with nvjpeg.h.

enum class NvjpegStatus { success, not_initialized, invalid, bad_jpeg, unsupported, no_memory, failed, wrong_gpu };
enum class NvjpegBackend { usual = 0, hybrid = 1, gpu_hybrid = 2, hardware = 3 };
inline constexpr int kNvjpegRgb = 5;  ///< nvjpegOutputFormat_t: NVJPEG_OUTPUT_RGBI
inline constexpr int kNvjpegUnknownSubsampling = -1;
inline constexpr int kNvjpegBaseline = 0xc0, kNvjpegExtended = 0xc1, kNvjpegProgressive = 0xc2;  // nvjpegJpegEncoding_t

using NvjpegHandle = struct nvjpegHandle*;
using NvjpegState = struct nvjpegJpegState*;
using NvjpegStream = struct nvjpegJpegStream*;
using NvjpegPinned = struct nvjpegBufferPinned*;
using NvjpegDevice = struct nvjpegBufferDevice*;
using NvjpegParams = struct nvjpegDecodeParams*;
using NvjpegEngine = struct nvjpegJpegDecoder*;

struct NvjpegImage {
  unsigned char* channel[4];
  std::size_t pitch[4];
};

/// The functions of libnvjpeg that shardkit uses. The constructor throws Error{unsupported} if it is missing or too
/// old.
struct NvjpegLibrary {
  using Status = NvjpegStatus;

  /// Loads the first existing one of `names`.
  explicit NvjpegLibrary(const std::vector<std::string>& names) : library("nvJPEG", with_toolkit_files(names)) {}

  SharedLibrary library;
  Status (*get_property)(int, int*) = library.need("nvjpegGetProperty");
  Status (*create)(NvjpegBackend, void*, void*, unsigned, NvjpegHandle*) = library.need("nvjpegCreateEx");
  Status (*destroy)(NvjpegHandle) = library.need("nvjpegDestroy");
  Status (*device_padding)(std::size_t, NvjpegHandle) = library.need("nvjpegSetDeviceMemoryPadding");
  Status (*pinned_padding)(std::size_t, NvjpegHandle) = library.need("nvjpegSetPinnedMemoryPadding");
  Status (*state_create)(NvjpegHandle, NvjpegState*) = library.need("nvjpegJpegStateCreate");
  Status (*state_destroy)(NvjpegState) = library.need("nvjpegJpegStateDestroy");
  Status (*stream_create)(NvjpegHandle, NvjpegStream*) = library.need("nvjpegJpegStreamCreate");
  Status (*stream_destroy)(NvjpegStream) = library.need("nvjpegJpegStreamDestroy");
  Status (*stream_parse)(NvjpegHandle, const unsigned char*, std::size_t, int, int,
                         NvjpegStream) = library.need("nvjpegJpegStreamParse");
  Status (*stream_encoding)(NvjpegStream, int*) = library.need("nvjpegJpegStreamGetJpegEncoding");
  Status (*stream_dimensions)(NvjpegStream, unsigned*, unsigned*) = library.need("nvjpegJpegStreamGetFrameDimensions");
  Status (*stream_components)(NvjpegStream, unsigned*) = library.need("nvjpegJpegStreamGetComponentsNum");
  Status (*stream_subsampling)(NvjpegStream, int*) = library.need("nvjpegJpegStreamGetChromaSubsampling");
  Status (*batched_supported)(NvjpegHandle, NvjpegStream, int*) = library.need("nvjpegDecodeBatchedSupported");
  Status (*batched_initialize)(NvjpegHandle, NvjpegState, int, int,
                               int format) = library.need("nvjpegDecodeBatchedInitialize");
  Status (*batched_decode)(NvjpegHandle, NvjpegState, const unsigned char* const*, const std::size_t*, NvjpegImage*,
                           cudaStream_t) = library.need("nvjpegDecodeBatched");
  Status (*params_create)(NvjpegHandle, NvjpegParams*) = library.need("nvjpegDecodeParamsCreate");
  Status (*params_destroy)(NvjpegParams) = library.need("nvjpegDecodeParamsDestroy");
  Status (*params_set_format)(NvjpegParams, int) = library.need("nvjpegDecodeParamsSetOutputFormat");
  Status (*decoder_create)(NvjpegHandle, NvjpegBackend, NvjpegEngine*) = library.need("nvjpegDecoderCreate");
  Status (*decoder_destroy)(NvjpegEngine) = library.need("nvjpegDecoderDestroy");
  Status (*decoder_state_create)(NvjpegHandle, NvjpegEngine, NvjpegState*) = library.need("nvjpegDecoderStateCreate");
  Status (*pinned_create)(NvjpegHandle, void*, NvjpegPinned*) = library.need("nvjpegBufferPinnedCreate");
  Status (*pinned_destroy)(NvjpegPinned) = library.need("nvjpegBufferPinnedDestroy");
  Status (*device_create)(NvjpegHandle, void*, NvjpegDevice*) = library.need("nvjpegBufferDeviceCreate");
  Status (*device_destroy)(NvjpegDevice) = library.need("nvjpegBufferDeviceDestroy");
  Status (*attach_pinned)(NvjpegState, NvjpegPinned) = library.need("nvjpegStateAttachPinnedBuffer");
  Status (*attach_device)(NvjpegState, NvjpegDevice) = library.need("nvjpegStateAttachDeviceBuffer");
  Status (*decode_host)(NvjpegHandle, NvjpegEngine, NvjpegState, NvjpegParams,
                        NvjpegStream) = library.need("nvjpegDecodeJpegHost");
  Status (*decode_transfer)(NvjpegHandle, NvjpegEngine, NvjpegState, NvjpegStream,
                            cudaStream_t) = library.need("nvjpegDecodeJpegTransferToDevice");
  Status (*decode_device)(NvjpegHandle, NvjpegEngine, NvjpegState, NvjpegImage*,
                          cudaStream_t) = library.need("nvjpegDecodeJpegDevice");
  // Null in older libraries of the same name.
  Status (*stream_precision)(NvjpegStream, unsigned*) = library.want("nvjpegJpegStreamGetSamplePrecision");
  Status (*hardware_info)(NvjpegHandle, unsigned*, unsigned*) = library.want("nvjpegGetHardwareDecoderInfo");
};

}  // namespace shardkit::gpu
