#include "core/error.hpp"
#include "gpu/device.hpp"

namespace shardkit::gpu {

std::vector<std::unique_ptr<Device>> open_devices() {
  throw Error(ErrorCode::unsupported,
              "no GPU is available: this program was built without CUDA (build it with cmake -DSHARDKIT_CUDA=ON)");
}

TraceRange::TraceRange(const char* /*name*/) {}

TraceRange::~TraceRange() = default;

}  // namespace shardkit::gpu
