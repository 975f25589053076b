#include "core/error.hpp"
#include "gpu/gpu_monitor.hpp"

namespace shardkit::gpu {

std::unique_ptr<GpuMonitor> open_gpu_monitor() {
  throw Error(ErrorCode::unsupported,
              "GPU metrics are not available: this program was built without NVML's header (scripts/install-deps "
              "--cuda installs it)");
}

}  // namespace shardkit::gpu
