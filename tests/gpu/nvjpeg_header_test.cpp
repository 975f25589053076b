// Compares nvjpeg_library.hpp with NVIDIA's header where that is installed. It only has to compile.

#include <cstddef>

#include <nvjpeg.h>

#include "gpu/nvjpeg_library.hpp"
#include "support/same_interface.hpp"

using namespace shardkit::gpu;
using shardkit_test::kSameCall;

#define CHECK_CALL(library, member, function) static_assert(kSameCall<decltype(library::member), decltype(&::function)>)

constexpr int value(NvjpegStatus status) { return static_cast<int>(status); }
constexpr int value(NvjpegBackend backend) { return static_cast<int>(backend); }

static_assert(value(NvjpegStatus::success) == NVJPEG_STATUS_SUCCESS);
static_assert(value(NvjpegStatus::not_initialized) == NVJPEG_STATUS_NOT_INITIALIZED);
static_assert(value(NvjpegStatus::invalid) == NVJPEG_STATUS_INVALID_PARAMETER);
static_assert(value(NvjpegStatus::bad_jpeg) == NVJPEG_STATUS_BAD_JPEG);
static_assert(value(NvjpegStatus::unsupported) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
static_assert(value(NvjpegStatus::no_memory) == NVJPEG_STATUS_ALLOCATOR_FAILURE);
static_assert(value(NvjpegStatus::failed) == NVJPEG_STATUS_EXECUTION_FAILED);
static_assert(value(NvjpegStatus::wrong_gpu) == NVJPEG_STATUS_ARCH_MISMATCH);
static_assert(value(NvjpegBackend::usual) == NVJPEG_BACKEND_DEFAULT);
static_assert(value(NvjpegBackend::hybrid) == NVJPEG_BACKEND_HYBRID);
static_assert(value(NvjpegBackend::gpu_hybrid) == NVJPEG_BACKEND_GPU_HYBRID);
static_assert(value(NvjpegBackend::hardware) == NVJPEG_BACKEND_HARDWARE);
static_assert(kNvjpegRgb == NVJPEG_OUTPUT_RGBI);
static_assert(kNvjpegUnknownSubsampling == NVJPEG_CSS_UNKNOWN);
static_assert(kNvjpegBaseline == NVJPEG_ENCODING_BASELINE_DCT);
static_assert(kNvjpegExtended == NVJPEG_ENCODING_EXTENDED_SEQUENTIAL_DCT_HUFFMAN);
static_assert(kNvjpegProgressive == NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN);
static_assert(sizeof(NvjpegImage) == sizeof(nvjpegImage_t));
static_assert(offsetof(NvjpegImage, pitch) == offsetof(nvjpegImage_t, pitch));
static_assert(MAJOR_VERSION == 0 && MINOR_VERSION == 1 && PATCH_LEVEL == 2);

CHECK_CALL(NvjpegLibrary, get_property, nvjpegGetProperty);
CHECK_CALL(NvjpegLibrary, create, nvjpegCreateEx);
CHECK_CALL(NvjpegLibrary, destroy, nvjpegDestroy);
CHECK_CALL(NvjpegLibrary, device_padding, nvjpegSetDeviceMemoryPadding);
CHECK_CALL(NvjpegLibrary, pinned_padding, nvjpegSetPinnedMemoryPadding);
CHECK_CALL(NvjpegLibrary, state_create, nvjpegJpegStateCreate);
CHECK_CALL(NvjpegLibrary, state_destroy, nvjpegJpegStateDestroy);
CHECK_CALL(NvjpegLibrary, stream_create, nvjpegJpegStreamCreate);
CHECK_CALL(NvjpegLibrary, stream_destroy, nvjpegJpegStreamDestroy);
CHECK_CALL(NvjpegLibrary, stream_parse, nvjpegJpegStreamParse);
CHECK_CALL(NvjpegLibrary, stream_encoding, nvjpegJpegStreamGetJpegEncoding);
CHECK_CALL(NvjpegLibrary, stream_dimensions, nvjpegJpegStreamGetFrameDimensions);
CHECK_CALL(NvjpegLibrary, stream_components, nvjpegJpegStreamGetComponentsNum);
CHECK_CALL(NvjpegLibrary, stream_subsampling, nvjpegJpegStreamGetChromaSubsampling);
CHECK_CALL(NvjpegLibrary, batched_supported, nvjpegDecodeBatchedSupported);
CHECK_CALL(NvjpegLibrary, batched_initialize, nvjpegDecodeBatchedInitialize);
CHECK_CALL(NvjpegLibrary, batched_decode, nvjpegDecodeBatched);
CHECK_CALL(NvjpegLibrary, params_create, nvjpegDecodeParamsCreate);
CHECK_CALL(NvjpegLibrary, params_destroy, nvjpegDecodeParamsDestroy);
CHECK_CALL(NvjpegLibrary, params_set_format, nvjpegDecodeParamsSetOutputFormat);
CHECK_CALL(NvjpegLibrary, decoder_create, nvjpegDecoderCreate);
CHECK_CALL(NvjpegLibrary, decoder_destroy, nvjpegDecoderDestroy);
CHECK_CALL(NvjpegLibrary, decoder_state_create, nvjpegDecoderStateCreate);
CHECK_CALL(NvjpegLibrary, pinned_create, nvjpegBufferPinnedCreate);
CHECK_CALL(NvjpegLibrary, pinned_destroy, nvjpegBufferPinnedDestroy);
CHECK_CALL(NvjpegLibrary, device_create, nvjpegBufferDeviceCreate);
CHECK_CALL(NvjpegLibrary, device_destroy, nvjpegBufferDeviceDestroy);
CHECK_CALL(NvjpegLibrary, attach_pinned, nvjpegStateAttachPinnedBuffer);
CHECK_CALL(NvjpegLibrary, attach_device, nvjpegStateAttachDeviceBuffer);
CHECK_CALL(NvjpegLibrary, decode_host, nvjpegDecodeJpegHost);
CHECK_CALL(NvjpegLibrary, decode_transfer, nvjpegDecodeJpegTransferToDevice);
CHECK_CALL(NvjpegLibrary, decode_device, nvjpegDecodeJpegDevice);
CHECK_CALL(NvjpegLibrary, stream_precision, nvjpegJpegStreamGetSamplePrecision);
CHECK_CALL(NvjpegLibrary, hardware_info, nvjpegGetHardwareDecoderInfo);
