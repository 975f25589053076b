#include "core/error.hpp"
#include "gpu/gpu_monitor.hpp"

namespace shardkit::gpu {

std::unique_ptr<GpuMonitor> open_gpu_monitor() {
  throw Error(ErrorCode::unsupported,
              "GPU metrics are not available: this program was built without NVML; to build it with NVML, run "
              "scripts/install-deps --cuda in its source first");
}

}  // namespace shardkit::gpu
