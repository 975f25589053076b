#pragma once

#include <string>
#include <utility>

#include <nvjpeg.h>

#include "gpu/shared_library.hpp"

namespace shardkit::gpu {

/// The functions of libnvjpeg that shardkit uses.
struct NvjpegLibrary {
  /// Loads it. Throws Error{unsupported} where it is missing or too old.
  NvjpegLibrary();

  /// "nvJPEG 13.0.1 (libnvjpeg.so.13)"
  std::string name() const;

  SharedLibrary library;
  decltype(nvjpegGetProperty)* get_property;
  decltype(nvjpegCreateEx)* create;
  decltype(nvjpegDestroy)* destroy;
  decltype(nvjpegJpegStateCreate)* state_create;
  decltype(nvjpegJpegStateDestroy)* state_destroy;
  decltype(nvjpegJpegStreamCreate)* stream_create;
  decltype(nvjpegJpegStreamDestroy)* stream_destroy;
  decltype(nvjpegJpegStreamParse)* stream_parse;
  decltype(nvjpegJpegStreamGetJpegEncoding)* stream_encoding;
  decltype(nvjpegJpegStreamGetFrameDimensions)* stream_dimensions;
  decltype(nvjpegJpegStreamGetComponentsNum)* stream_components;
  decltype(nvjpegJpegStreamGetChromaSubsampling)* stream_subsampling;
  decltype(nvjpegDecodeBatchedSupported)* batched_supported;
  decltype(nvjpegDecodeBatchedInitialize)* batched_initialize;
  decltype(nvjpegDecodeBatched)* batched_decode;
  decltype(nvjpegDecodeParamsCreate)* params_create;
  decltype(nvjpegDecodeParamsDestroy)* params_destroy;
  decltype(nvjpegDecodeParamsSetOutputFormat)* params_set_format;
  decltype(nvjpegDecoderCreate)* decoder_create;
  decltype(nvjpegDecoderDestroy)* decoder_destroy;
  decltype(nvjpegDecoderStateCreate)* decoder_state_create;
  decltype(nvjpegBufferPinnedCreate)* pinned_create;
  decltype(nvjpegBufferPinnedDestroy)* pinned_destroy;
  decltype(nvjpegBufferDeviceCreate)* device_create;
  decltype(nvjpegBufferDeviceDestroy)* device_destroy;
  decltype(nvjpegStateAttachPinnedBuffer)* attach_pinned;
  decltype(nvjpegStateAttachDeviceBuffer)* attach_device;
  decltype(nvjpegDecodeJpegHost)* decode_host;
  decltype(nvjpegDecodeJpegTransferToDevice)* decode_transfer;
  decltype(nvjpegDecodeJpegDevice)* decode_device;
  // Null in older libraries of the same name.
  decltype(nvjpegJpegStreamGetSamplePrecision)* stream_precision;
  decltype(nvjpegGetHardwareDecoderInfo)* hardware_info;
};

/// "6: the GPU could not do it"
std::string nvjpeg_text(nvjpegStatus_t status);

/// Throws what a call says that has nothing to do with an image: Error{no_space} where memory is short, else Error{io}.
/// `action` as in "set up a decoder".
void check_nvjpeg(nvjpegStatus_t status, const char* action);

/// Whether an image decoded: false when the image is at fault. Throws, as check_nvjpeg() does, for any other reason.
bool is_decoded(nvjpegStatus_t status);

/// Something of nvJPEG's that gives itself back by a function of the library.
template <class T>
class NvjpegOwned {
 public:
  using Destroy = nvjpegStatus_t(T);

  NvjpegOwned() = default;
  NvjpegOwned(T object, Destroy* destroy) : object_(object), destroy_(destroy) {}
  ~NvjpegOwned() {
    if (object_) destroy_(object_);
  }
  NvjpegOwned(NvjpegOwned&& other) noexcept : object_(other.object_), destroy_(other.destroy_) { other.object_ = {}; }
  NvjpegOwned& operator=(NvjpegOwned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }

  T get() const { return object_; }

 private:
  T object_{};
  Destroy* destroy_ = nullptr;
};

/// Makes one by `create(arguments..., &object)`.
template <class T, class Create, class... Arguments>
NvjpegOwned<T> make_nvjpeg(typename NvjpegOwned<T>::Destroy* destroy, Create* create, Arguments... arguments) {
  T object{};
  check_nvjpeg(create(arguments..., &object), "set up nvJPEG");
  return {object, destroy};
}

}  // namespace shardkit::gpu
