#include "core/error.hpp"
#include "gpu/gpu_monitor.hpp"

namespace shardkit::gpu {

std::unique_ptr<GpuMonitor> open_gpu_monitor() {
  throw Error(
      ErrorCode::unsupported,
      "the GPUs' driver is not asked: this program was built without NVML's header (scripts/install-deps --cuda "
      "fetches it)");
}

}  // namespace shardkit::gpu
