#include "core/error.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit::gpu {

std::unique_ptr<DeviceJpegDecoder> open_jpeg_decoder(const Device&, unsigned) {
  throw Error(ErrorCode::unsupported,
              "no nvJPEG: this program was built without its header (scripts/install-deps --cuda installs it)");
}

}  // namespace shardkit::gpu
