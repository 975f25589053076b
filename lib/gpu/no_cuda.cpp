#include "core/error.hpp"
#include "gpu/device.hpp"

namespace shardkit::gpu {

std::vector<std::unique_ptr<Device>> open_devices() {
  throw Error(ErrorCode::unsupported,
              "no GPU can be used: this program was built without CUDA (cmake -DSHARDKIT_CUDA=ON builds it with it)");
}

TraceRange::TraceRange(const char* /*name*/) {}

TraceRange::~TraceRange() = default;

}  // namespace shardkit::gpu
