#include "gpu/nvjpeg_library.hpp"

#include <array>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::gpu {
namespace {

// What each status means, in the header's order.
constexpr std::array kStatusTexts{"success",
                                  "it is not initialised",
                                  "an argument is wrong",
                                  "no valid JPEG",
                                  "a kind of JPEG that it does not decode",
                                  "memory is short, of the GPU or pinned; fewer images at once take less",
                                  "the GPU could not do it",
                                  "this GPU cannot do that",
                                  "an error of its own",
                                  "this engine does not decode that",
                                  "the bytes end too early"};

/// A function of the library, of the type of the member that it is for.
struct Needed {
  const SharedLibrary& library;
  const char* symbol;

  template <class Function>
  operator Function*() const {
    return library.function<Function>(symbol);
  }
};

}  // namespace

// Not libnvjpeg.so.11: under that name nvjpegImage_t has changed its layout.
NvjpegLibrary::NvjpegLibrary()
    : library("nvJPEG", {"libnvjpeg.so.13", "libnvjpeg.so.12"}),
      get_property(Needed{library, "nvjpegGetProperty"}),
      create(Needed{library, "nvjpegCreateEx"}),
      destroy(Needed{library, "nvjpegDestroy"}),
      state_create(Needed{library, "nvjpegJpegStateCreate"}),
      state_destroy(Needed{library, "nvjpegJpegStateDestroy"}),
      stream_create(Needed{library, "nvjpegJpegStreamCreate"}),
      stream_destroy(Needed{library, "nvjpegJpegStreamDestroy"}),
      stream_parse(Needed{library, "nvjpegJpegStreamParse"}),
      stream_encoding(Needed{library, "nvjpegJpegStreamGetJpegEncoding"}),
      stream_dimensions(Needed{library, "nvjpegJpegStreamGetFrameDimensions"}),
      stream_components(Needed{library, "nvjpegJpegStreamGetComponentsNum"}),
      stream_subsampling(Needed{library, "nvjpegJpegStreamGetChromaSubsampling"}),
      batched_supported(Needed{library, "nvjpegDecodeBatchedSupported"}),
      batched_initialize(Needed{library, "nvjpegDecodeBatchedInitialize"}),
      batched_decode(Needed{library, "nvjpegDecodeBatched"}),
      params_create(Needed{library, "nvjpegDecodeParamsCreate"}),
      params_destroy(Needed{library, "nvjpegDecodeParamsDestroy"}),
      params_set_format(Needed{library, "nvjpegDecodeParamsSetOutputFormat"}),
      decoder_create(Needed{library, "nvjpegDecoderCreate"}),
      decoder_destroy(Needed{library, "nvjpegDecoderDestroy"}),
      decoder_state_create(Needed{library, "nvjpegDecoderStateCreate"}),
      pinned_create(Needed{library, "nvjpegBufferPinnedCreate"}),
      pinned_destroy(Needed{library, "nvjpegBufferPinnedDestroy"}),
      device_create(Needed{library, "nvjpegBufferDeviceCreate"}),
      device_destroy(Needed{library, "nvjpegBufferDeviceDestroy"}),
      attach_pinned(Needed{library, "nvjpegStateAttachPinnedBuffer"}),
      attach_device(Needed{library, "nvjpegStateAttachDeviceBuffer"}),
      decode_host(Needed{library, "nvjpegDecodeJpegHost"}),
      decode_transfer(Needed{library, "nvjpegDecodeJpegTransferToDevice"}),
      decode_device(Needed{library, "nvjpegDecodeJpegDevice"}),
      stream_precision(
          library.find_function<decltype(nvjpegJpegStreamGetSamplePrecision)>("nvjpegJpegStreamGetSamplePrecision")),
      hardware_info(library.find_function<decltype(nvjpegGetHardwareDecoderInfo)>("nvjpegGetHardwareDecoderInfo")) {}

std::string NvjpegLibrary::name() const {
  std::array<int, 3> version{};
  constexpr std::array kParts{MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (std::size_t i = 0; i < kParts.size(); ++i) get_property(kParts[i], &version[i]);
  return fmt::format("nvJPEG {}.{}.{} ({})", version[0], version[1], version[2], library.name());
}

std::string nvjpeg_text(nvjpegStatus_t status) {
  const auto index = static_cast<std::size_t>(status);
  return fmt::format("{}: {}", index, index < kStatusTexts.size() ? kStatusTexts[index] : "unknown");
}

void check_nvjpeg(nvjpegStatus_t status, const char* action) {
  if (status == NVJPEG_STATUS_SUCCESS) return;
  const bool memory = status == NVJPEG_STATUS_ALLOCATOR_FAILURE;
  throw Error(memory ? ErrorCode::no_space : ErrorCode::io,
              fmt::format("cannot {}: nvJPEG says {}", action, nvjpeg_text(status)));
}

bool is_decoded(nvjpegStatus_t status) {
  switch (status) {
    case NVJPEG_STATUS_SUCCESS:
      return true;
    case NVJPEG_STATUS_NOT_INITIALIZED:
    case NVJPEG_STATUS_INVALID_PARAMETER:
    case NVJPEG_STATUS_ALLOCATOR_FAILURE:
      check_nvjpeg(status, "decode on the GPU");
      return false;
    default:
      return false;
  }
}

}  // namespace shardkit::gpu
