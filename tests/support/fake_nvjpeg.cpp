// A libnvjpeg.so.13 for tests, in host memory. What a GPU would do happens when its stream is synchronized
// (fake_cuda.cpp), so that memory which is written again too early holds the wrong pixels. As nvJPEG does it wants the
// handle's device to be current in the calling thread, and a batch of which one image fails gives no image at all. A
// state has one batch under way at a time, is set up anew after a failed one, and belongs to the decoder that it was
// made for. The phases of an image follow each other on one stream, and the host writes no buffer that the GPU still
// reads. Without padding there are no buffers.
// FAKE_NVJPEG_HARDWARE=0 is a GPU without decoders in silicon, FAKE_NVJPEG_CREATE=N the status that no handle comes
// with, FAKE_NVJPEG_DECODE=N that of every decoding. FAKE_NVJPEG_NEWEST=12 is a driver on which the library of CUDA 13
// does not start.

#include "support/fake_nvjpeg.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/nvjpeg_library.hpp"

using namespace shardkit::gpu;

#ifndef FAKE_NVJPEG_MAJOR
#define FAKE_NVJPEG_MAJOR 13
#endif

using ByteVector = std::vector<unsigned char>;

namespace shardkit::gpu {

struct nvjpegHandle {
  int device;
  bool hardware;
  std::size_t device_padding = 0;
  std::size_t pinned_padding = 0;

  bool padded() const { return device_padding > 0 && pinned_padding > 0; }
};
struct nvjpegJpegStream {
  ByteVector bytes;
  FakeJpegHeader header;
  int reads = 0;  ///< by the GPU, that were enqueued and not yet done
};
struct nvjpegBufferPinned {
  ByteVector bytes;
  int reads = 0;  ///< the same
};
struct nvjpegBufferDevice {
  ByteVector bytes;
  int uses = 0;  ///< the same
};
struct nvjpegDecodeParams {
  int format;
};
struct nvjpegJpegDecoder {
  NvjpegBackend backend;
};
/// What was done last with a state.
enum class Phase { none, batch_set_up, batch_failed, host, transferred };
struct nvjpegJpegState {
  NvjpegEngine decoder = nullptr;  ///< that it belongs to; null for batches
  nvjpegBufferPinned* pinned = nullptr;
  nvjpegBufferDevice* device = nullptr;
  int batch = 0;
  bool under_way = false;
  Phase phase = Phase::none;
  cudaStream_t stream = nullptr;  ///< of the transfer
};

}  // namespace shardkit::gpu

namespace {

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

bool is_current(NvjpegHandle handle) {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess && device == handle->device;
}

template <class T>
NvjpegStatus make(NvjpegHandle handle, T** object, T value) {
  if (!is_current(handle)) return NvjpegStatus::invalid;
  *object = new T(std::move(value));
  return NvjpegStatus::success;
}

template <class T>
NvjpegStatus destroy(T* object) {
  delete object;
  return NvjpegStatus::success;
}

/// Has the stream do it.
NvjpegStatus enqueue(cudaStream_t stream, std::function<void()> work) {
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* given) {
    auto* const function = static_cast<std::function<void()>*>(given);
    (*function)();
    delete function;
  };
  return cudaLaunchHostFunc(stream, run, kept) == cudaSuccess ? NvjpegStatus::success : NvjpegStatus::failed;
}

NvjpegStatus decode(const unsigned char* data, std::size_t length, ByteVector& pixels) {
  const int status = from_environment("FAKE_NVJPEG_DECODE", 0);
  if (status != 0) return static_cast<NvjpegStatus>(status);
  FakeJpegHeader header{};
  if (!fake_jpeg_header(data, length, &header)) return NvjpegStatus::bad_jpeg;
  pixels.resize(std::size_t{header.width} * header.height * 3);
  return fake_jpeg_decode(data, length, pixels.data(), pixels.size()) ? NvjpegStatus::success : NvjpegStatus::bad_jpeg;
}

/// Batches whose streams were not yet synchronized.
int batches_under_way = 0;

template <class T>
NvjpegStatus store(T* to, T value) {
  *to = value;
  return NvjpegStatus::success;
}

}  // namespace

extern "C" {

NvjpegStatus nvjpegGetProperty(int type, int* value) {
  return store(value, type == 0 ? FAKE_NVJPEG_MAJOR : type == 1 ? 0 : 1);
}
NvjpegStatus nvjpegCreateEx(NvjpegBackend backend, void*, void*, unsigned, NvjpegHandle* handle) {
  const auto status = static_cast<NvjpegStatus>(from_environment("FAKE_NVJPEG_CREATE", 0));
  if (FAKE_NVJPEG_MAJOR > from_environment("FAKE_NVJPEG_NEWEST", 99)) return NvjpegStatus::failed;
  if (status != NvjpegStatus::success) return status;
  const bool hardware = backend == NvjpegBackend::hardware;
  if (hardware && from_environment("FAKE_NVJPEG_HARDWARE", 1) == 0) return NvjpegStatus::wrong_gpu;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return NvjpegStatus::not_initialized;
  *handle = new nvjpegHandle{device, hardware, 0, 0};
  return NvjpegStatus::success;
}
NvjpegStatus nvjpegSetDeviceMemoryPadding(std::size_t padding, NvjpegHandle handle) {
  return store(&handle->device_padding, padding);
}
NvjpegStatus nvjpegSetPinnedMemoryPadding(std::size_t padding, NvjpegHandle handle) {
  return store(&handle->pinned_padding, padding);
}
NvjpegStatus nvjpegDestroy(NvjpegHandle handle) { return destroy(handle); }
NvjpegStatus nvjpegGetHardwareDecoderInfo(NvjpegHandle, unsigned* engines, unsigned* cores) {
  *cores = 1;
  return store(engines, 7U);
}

NvjpegStatus nvjpegJpegStreamCreate(NvjpegHandle handle, NvjpegStream* stream) {
  return make(handle, stream, nvjpegJpegStream{});
}
NvjpegStatus nvjpegJpegStreamDestroy(NvjpegStream stream) { return destroy(stream); }
NvjpegStatus nvjpegJpegStreamParse(NvjpegHandle handle, const unsigned char* data, size_t length, int, int,
                                   NvjpegStream stream) {
  if (!is_current(handle) || stream->reads > 0) return NvjpegStatus::invalid;
  stream->bytes.assign(data, data + length);
  return fake_jpeg_header(data, length, &stream->header) ? NvjpegStatus::success : NvjpegStatus::bad_jpeg;
}
NvjpegStatus nvjpegJpegStreamGetJpegEncoding(NvjpegStream stream, int* encoding) {
  const bool progressive = stream->header.progressive;
  return store(encoding, progressive ? kNvjpegProgressive : kNvjpegBaseline);
}
NvjpegStatus nvjpegJpegStreamGetFrameDimensions(NvjpegStream stream, unsigned* width, unsigned* height) {
  *width = stream->header.width;
  return store(height, stream->header.height);
}
NvjpegStatus nvjpegJpegStreamGetComponentsNum(NvjpegStream stream, unsigned* components) {
  return store(components, stream->header.components);
}
NvjpegStatus nvjpegJpegStreamGetChromaSubsampling(NvjpegStream stream, int* subsampling) {
  constexpr int kNames[] = {0, 1, 2, 3, 4, 6, kNvjpegUnknownSubsampling};
  return store(subsampling, kNames[stream->header.subsampling]);
}
NvjpegStatus nvjpegDecodeBatchedSupported(NvjpegHandle handle, NvjpegStream stream, int* refused) {
  return store(refused, handle->hardware && !stream->header.progressive ? 0 : 1);
}

NvjpegStatus nvjpegJpegStateCreate(NvjpegHandle handle, NvjpegState* state) {
  return make(handle, state, nvjpegJpegState{});
}
NvjpegStatus nvjpegJpegStateDestroy(NvjpegState state) { return destroy(state); }
NvjpegStatus nvjpegDecodeBatchedInitialize(NvjpegHandle handle, NvjpegState state, int batch, int, int format) {
  if (!is_current(handle) || !handle->padded() || format != kNvjpegRgb || state->under_way || state->decoder) {
    return NvjpegStatus::invalid;
  }
  state->batch = batch;
  state->phase = Phase::batch_set_up;
  return NvjpegStatus::success;
}
NvjpegStatus nvjpegDecodeBatched(NvjpegHandle handle, NvjpegState state, const unsigned char* const* data,
                                 const size_t* lengths, NvjpegImage* targets, cudaStream_t stream) {
  if (!is_current(handle) || !handle->hardware || state->phase != Phase::batch_set_up || state->under_way) {
    return NvjpegStatus::invalid;
  }
  std::vector<ByteVector> all(static_cast<std::size_t>(state->batch));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const NvjpegStatus status = decode(data[i], lengths[i], all[i]); status != NvjpegStatus::success) {
      state->phase = Phase::batch_failed;
      return status == NvjpegStatus::bad_jpeg ? NvjpegStatus::failed : status;
    }
  }
  state->under_way = true;
  fake_jpeg_batches(++batches_under_way);
  return enqueue(stream, [state, all, to = std::vector(targets, targets + state->batch)] {
    for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(to[i].channel[0], all[i].data(), all[i].size());
    state->under_way = false;
    --batches_under_way;
  });
}

NvjpegStatus nvjpegDecodeParamsCreate(NvjpegHandle handle, NvjpegParams* params) {
  return make(handle, params, nvjpegDecodeParams{});
}
NvjpegStatus nvjpegDecodeParamsDestroy(NvjpegParams params) { return destroy(params); }
NvjpegStatus nvjpegDecodeParamsSetOutputFormat(NvjpegParams params, int format) {
  return store(&params->format, format);
}
NvjpegStatus nvjpegDecoderCreate(NvjpegHandle handle, NvjpegBackend backend, NvjpegEngine* decoder) {
  return make(handle, decoder, nvjpegJpegDecoder{backend});
}
NvjpegStatus nvjpegDecoderDestroy(NvjpegEngine decoder) { return destroy(decoder); }
NvjpegStatus nvjpegDecoderStateCreate(NvjpegHandle handle, NvjpegEngine decoder, NvjpegState* state) {
  return make(handle, state, nvjpegJpegState{.decoder = decoder});
}
NvjpegStatus nvjpegBufferPinnedCreate(NvjpegHandle handle, void*, NvjpegPinned* buffer) {
  if (!handle->padded()) return NvjpegStatus::invalid;
  return make(handle, buffer, nvjpegBufferPinned{});
}
NvjpegStatus nvjpegBufferPinnedDestroy(NvjpegPinned buffer) { return destroy(buffer); }
NvjpegStatus nvjpegBufferDeviceCreate(NvjpegHandle handle, void*, NvjpegDevice* buffer) {
  return make(handle, buffer, nvjpegBufferDevice{});
}
NvjpegStatus nvjpegBufferDeviceDestroy(NvjpegDevice buffer) { return destroy(buffer); }
NvjpegStatus nvjpegStateAttachPinnedBuffer(NvjpegState state, NvjpegPinned buffer) {
  return store(&state->pinned, buffer);
}
NvjpegStatus nvjpegStateAttachDeviceBuffer(NvjpegState state, NvjpegDevice buffer) {
  if (buffer->uses > 0) return NvjpegStatus::invalid;
  return store(&state->device, buffer);
}

NvjpegStatus nvjpegDecodeJpegHost(NvjpegHandle handle, NvjpegEngine decoder, NvjpegState state, NvjpegParams params,
                                  NvjpegStream stream) {
  if (!is_current(handle) || state->decoder != decoder || !state->pinned || params->format != kNvjpegRgb) {
    return NvjpegStatus::invalid;
  }
  if (state->pinned->reads > 0) return NvjpegStatus::invalid;  // the GPU would get the next image
  state->phase = Phase::none;
  const NvjpegStatus status = decode(stream->bytes.data(), stream->bytes.size(), state->pinned->bytes);
  if (status == NvjpegStatus::success) state->phase = Phase::host;
  return status;
}
NvjpegStatus nvjpegDecodeJpegTransferToDevice(NvjpegHandle handle, NvjpegEngine decoder, NvjpegState state,
                                              NvjpegStream parsed, cudaStream_t stream) {
  if (!is_current(handle) || state->decoder != decoder || !state->device || state->phase != Phase::host) {
    return NvjpegStatus::invalid;
  }
  state->phase = Phase::transferred;
  state->stream = stream;
  ++state->pinned->reads;
  ++parsed->reads;
  ++state->device->uses;
  return enqueue(stream, [from = state->pinned, parsed, to = state->device] {
    to->bytes = from->bytes;
    --from->reads;
    --parsed->reads;
    --to->uses;
  });
}
NvjpegStatus nvjpegDecodeJpegDevice(NvjpegHandle handle, NvjpegEngine decoder, NvjpegState state, NvjpegImage* target,
                                    cudaStream_t stream) {
  if (!is_current(handle) || state->decoder != decoder || state->phase != Phase::transferred ||
      state->stream != stream) {
    return NvjpegStatus::invalid;
  }
  state->phase = Phase::none;
  ++state->device->uses;
  return enqueue(stream, [from = state->device, to = target->channel[0]] {
    std::memcpy(to, from->bytes.data(), from->bytes.size());
    --from->uses;
  });
}

}  // extern "C"
