#include <cuda_runtime_api.h>

#include "core/error.hpp"
#include "gpu/cuda_absence.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/devices.hpp"

namespace shardkit {

std::vector<std::unique_ptr<Device>> open_devices() {
  int count = 0;  // left as it is where there is no driver
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    throw Error(ErrorCode::unsupported, cuda_absence(result, cudaGetErrorString(result), driver, runtime));
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (int index = 0; index < count; ++index) devices.push_back(std::make_unique<CudaDevice>(index));
  return devices;
}

}  // namespace shardkit
