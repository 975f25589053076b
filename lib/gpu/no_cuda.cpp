#include "core/error.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/direct_storage.hpp"

namespace shardkit::gpu {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::unsupported,
              "no GPU is available: this program was built without CUDA (build it with cmake -DSHARDKIT_CUDA=ON)");
}

}  // namespace

std::vector<std::unique_ptr<Device>> open_devices() { fail(); }

std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device&, unsigned) { fail(); }

std::unique_ptr<DirectStorage> open_direct_storage(const Device&, const system::Probe&) { fail(); }

TraceRange::TraceRange(const char* /*name*/) {}

TraceRange::~TraceRange() = default;

}  // namespace shardkit::gpu
