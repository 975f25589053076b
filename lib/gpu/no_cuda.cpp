#include "core/error.hpp"
#include "gpu/devices.hpp"

namespace shardkit {

std::vector<std::unique_ptr<Device>> open_devices() {
  throw Error(ErrorCode::unsupported,
              "no GPU can be used: this program was built without CUDA (cmake -DSHARDKIT_CUDA=ON builds it with it)");
}

}  // namespace shardkit
