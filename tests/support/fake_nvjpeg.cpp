// A libnvjpeg.so.13 for tests, in host memory. What a GPU would do happens when its stream is synchronized
// (fake_cuda.cpp), so that memory which is written again too early holds the wrong pixels. As nvJPEG does it wants the
// handle's device to be current in the calling thread, and a batch of which one image fails gives no image at all.
// FAKE_NVJPEG_HARDWARE=0 is a GPU without decoders in silicon, FAKE_NVJPEG_CREATE=N the status that no handle comes
// with, FAKE_NVJPEG_DECODE=N that of every decoding.

#include "support/fake_nvjpeg.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvjpeg.h>

using ByteVector = std::vector<unsigned char>;

struct nvjpegHandle {
  int device;
  bool hardware;
};
struct nvjpegJpegStream {
  ByteVector bytes;
  FakeJpegHeader header;
};
struct nvjpegBufferPinned {
  ByteVector bytes;
};
struct nvjpegBufferDevice {
  ByteVector bytes;
};
struct nvjpegDecodeParams {
  nvjpegOutputFormat_t format;
};
struct nvjpegJpegDecoder {
  nvjpegBackend_t backend;
};
struct nvjpegJpegState {
  nvjpegBufferPinned* pinned;
  nvjpegBufferDevice* device;
  int batch;
};

namespace {

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

bool is_current(nvjpegHandle_t handle) {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess && device == handle->device;
}

template <class T>
nvjpegStatus_t make(nvjpegHandle_t handle, T** object, T value) {
  if (!is_current(handle)) return NVJPEG_STATUS_INVALID_PARAMETER;
  *object = new T(std::move(value));
  return NVJPEG_STATUS_SUCCESS;
}

template <class T>
nvjpegStatus_t destroy(T* object) {
  delete object;
  return NVJPEG_STATUS_SUCCESS;
}

/// Has the stream do it.
nvjpegStatus_t enqueue(cudaStream_t stream, std::function<void()> work) {
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* given) {
    auto* const function = static_cast<std::function<void()>*>(given);
    (*function)();
    delete function;
  };
  return cudaLaunchHostFunc(stream, run, kept) == cudaSuccess ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_EXECUTION_FAILED;
}

nvjpegStatus_t decode(const unsigned char* data, std::size_t length, ByteVector& pixels) {
  const int status = from_environment("FAKE_NVJPEG_DECODE", NVJPEG_STATUS_SUCCESS);
  if (status != NVJPEG_STATUS_SUCCESS) return static_cast<nvjpegStatus_t>(status);
  FakeJpegHeader header{};
  if (!fake_jpeg_header(data, length, &header)) return NVJPEG_STATUS_BAD_JPEG;
  pixels.resize(std::size_t{header.width} * header.height * 3);
  return fake_jpeg_decode(data, length, pixels.data(), pixels.size()) ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_BAD_JPEG;
}

template <class T>
nvjpegStatus_t store(T* to, T value) {
  *to = value;
  return NVJPEG_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

nvjpegStatus_t nvjpegGetProperty(libraryPropertyType type, int* value) {
  return store(value, type == MAJOR_VERSION ? 13 : type == MINOR_VERSION ? 0 : 1);
}
nvjpegStatus_t nvjpegCreateEx(nvjpegBackend_t backend, nvjpegDevAllocator_t*, nvjpegPinnedAllocator_t*, unsigned,
                              nvjpegHandle_t* handle) {
  const auto status = static_cast<nvjpegStatus_t>(from_environment("FAKE_NVJPEG_CREATE", NVJPEG_STATUS_SUCCESS));
  if (status != NVJPEG_STATUS_SUCCESS) return status;
  const bool hardware = backend == NVJPEG_BACKEND_HARDWARE;
  if (hardware && from_environment("FAKE_NVJPEG_HARDWARE", 1) == 0) return NVJPEG_STATUS_ARCH_MISMATCH;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return NVJPEG_STATUS_NOT_INITIALIZED;
  *handle = new nvjpegHandle{device, hardware};
  return NVJPEG_STATUS_SUCCESS;
}
nvjpegStatus_t nvjpegDestroy(nvjpegHandle_t handle) { return destroy(handle); }
nvjpegStatus_t nvjpegGetHardwareDecoderInfo(nvjpegHandle_t, unsigned* engines, unsigned* cores) {
  *cores = 1;
  return store(engines, 7U);
}

nvjpegStatus_t nvjpegJpegStreamCreate(nvjpegHandle_t handle, nvjpegJpegStream_t* stream) {
  return make(handle, stream, nvjpegJpegStream{});
}
nvjpegStatus_t nvjpegJpegStreamDestroy(nvjpegJpegStream_t stream) { return destroy(stream); }
nvjpegStatus_t nvjpegJpegStreamParse(nvjpegHandle_t handle, const unsigned char* data, size_t length, int, int,
                                     nvjpegJpegStream_t stream) {
  if (!is_current(handle)) return NVJPEG_STATUS_INVALID_PARAMETER;
  stream->bytes.assign(data, data + length);
  return fake_jpeg_header(data, length, &stream->header) ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_BAD_JPEG;
}
nvjpegStatus_t nvjpegJpegStreamGetJpegEncoding(nvjpegJpegStream_t stream, nvjpegJpegEncoding_t* encoding) {
  const bool progressive = stream->header.progressive;
  return store(encoding, progressive ? NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN : NVJPEG_ENCODING_BASELINE_DCT);
}
nvjpegStatus_t nvjpegJpegStreamGetFrameDimensions(nvjpegJpegStream_t stream, unsigned* width, unsigned* height) {
  *width = stream->header.width;
  return store(height, stream->header.height);
}
nvjpegStatus_t nvjpegJpegStreamGetComponentsNum(nvjpegJpegStream_t stream, unsigned* components) {
  return store(components, stream->header.components);
}
nvjpegStatus_t nvjpegJpegStreamGetChromaSubsampling(nvjpegJpegStream_t stream, nvjpegChromaSubsampling_t* subsampling) {
  constexpr nvjpegChromaSubsampling_t kNames[] = {NVJPEG_CSS_444, NVJPEG_CSS_422,  NVJPEG_CSS_420,    NVJPEG_CSS_440,
                                                  NVJPEG_CSS_411, NVJPEG_CSS_GRAY, NVJPEG_CSS_UNKNOWN};
  return store(subsampling, kNames[stream->header.subsampling]);
}
nvjpegStatus_t nvjpegDecodeBatchedSupported(nvjpegHandle_t handle, nvjpegJpegStream_t stream, int* refused) {
  return store(refused, handle->hardware && !stream->header.progressive ? 0 : 1);
}

nvjpegStatus_t nvjpegJpegStateCreate(nvjpegHandle_t handle, nvjpegJpegState_t* state) {
  return make(handle, state, nvjpegJpegState{});
}
nvjpegStatus_t nvjpegJpegStateDestroy(nvjpegJpegState_t state) { return destroy(state); }
nvjpegStatus_t nvjpegDecodeBatchedInitialize(nvjpegHandle_t handle, nvjpegJpegState_t state, int batch, int,
                                             nvjpegOutputFormat_t format) {
  if (!is_current(handle) || format != NVJPEG_OUTPUT_RGBI) return NVJPEG_STATUS_INVALID_PARAMETER;
  state->batch = batch;
  return NVJPEG_STATUS_SUCCESS;
}
nvjpegStatus_t nvjpegDecodeBatched(nvjpegHandle_t handle, nvjpegJpegState_t state, const unsigned char* const* data,
                                   const size_t* lengths, nvjpegImage_t* targets, cudaStream_t stream) {
  if (!is_current(handle) || !handle->hardware) return NVJPEG_STATUS_INVALID_PARAMETER;
  std::vector<ByteVector> all(static_cast<std::size_t>(state->batch));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const nvjpegStatus_t status = decode(data[i], lengths[i], all[i]); status != NVJPEG_STATUS_SUCCESS) {
      return status == NVJPEG_STATUS_BAD_JPEG ? NVJPEG_STATUS_EXECUTION_FAILED : status;
    }
  }
  return enqueue(stream, [all, to = std::vector(targets, targets + state->batch)] {
    for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(to[i].channel[0], all[i].data(), all[i].size());
  });
}

nvjpegStatus_t nvjpegDecodeParamsCreate(nvjpegHandle_t handle, nvjpegDecodeParams_t* params) {
  return make(handle, params, nvjpegDecodeParams{});
}
nvjpegStatus_t nvjpegDecodeParamsDestroy(nvjpegDecodeParams_t params) { return destroy(params); }
nvjpegStatus_t nvjpegDecodeParamsSetOutputFormat(nvjpegDecodeParams_t params, nvjpegOutputFormat_t format) {
  return store(&params->format, format);
}
nvjpegStatus_t nvjpegDecoderCreate(nvjpegHandle_t handle, nvjpegBackend_t backend, nvjpegJpegDecoder_t* decoder) {
  return make(handle, decoder, nvjpegJpegDecoder{backend});
}
nvjpegStatus_t nvjpegDecoderDestroy(nvjpegJpegDecoder_t decoder) { return destroy(decoder); }
nvjpegStatus_t nvjpegDecoderStateCreate(nvjpegHandle_t handle, nvjpegJpegDecoder_t, nvjpegJpegState_t* state) {
  return make(handle, state, nvjpegJpegState{});
}
nvjpegStatus_t nvjpegBufferPinnedCreate(nvjpegHandle_t handle, nvjpegPinnedAllocator_t*, nvjpegBufferPinned_t* buffer) {
  return make(handle, buffer, nvjpegBufferPinned{});
}
nvjpegStatus_t nvjpegBufferPinnedDestroy(nvjpegBufferPinned_t buffer) { return destroy(buffer); }
nvjpegStatus_t nvjpegBufferDeviceCreate(nvjpegHandle_t handle, nvjpegDevAllocator_t*, nvjpegBufferDevice_t* buffer) {
  return make(handle, buffer, nvjpegBufferDevice{});
}
nvjpegStatus_t nvjpegBufferDeviceDestroy(nvjpegBufferDevice_t buffer) { return destroy(buffer); }
nvjpegStatus_t nvjpegStateAttachPinnedBuffer(nvjpegJpegState_t state, nvjpegBufferPinned_t buffer) {
  return store(&state->pinned, buffer);
}
nvjpegStatus_t nvjpegStateAttachDeviceBuffer(nvjpegJpegState_t state, nvjpegBufferDevice_t buffer) {
  return store(&state->device, buffer);
}

nvjpegStatus_t nvjpegDecodeJpegHost(nvjpegHandle_t handle, nvjpegJpegDecoder_t, nvjpegJpegState_t state,
                                    nvjpegDecodeParams_t params, nvjpegJpegStream_t stream) {
  if (!is_current(handle) || !state->pinned || params->format != NVJPEG_OUTPUT_RGBI) {
    return NVJPEG_STATUS_INVALID_PARAMETER;
  }
  return decode(stream->bytes.data(), stream->bytes.size(), state->pinned->bytes);
}
nvjpegStatus_t nvjpegDecodeJpegTransferToDevice(nvjpegHandle_t handle, nvjpegJpegDecoder_t, nvjpegJpegState_t state,
                                                nvjpegJpegStream_t, cudaStream_t stream) {
  if (!is_current(handle) || !state->device) return NVJPEG_STATUS_INVALID_PARAMETER;
  return enqueue(stream, [from = state->pinned, to = state->device] { to->bytes = from->bytes; });
}
nvjpegStatus_t nvjpegDecodeJpegDevice(nvjpegHandle_t handle, nvjpegJpegDecoder_t, nvjpegJpegState_t state,
                                      nvjpegImage_t* target, cudaStream_t stream) {
  if (!is_current(handle) || !state->device) return NVJPEG_STATUS_INVALID_PARAMETER;
  return enqueue(stream, [from = state->device, to = target->channel[0]] {
    std::memcpy(to, from->bytes.data(), from->bytes.size());
  });
}

}  // extern "C"
