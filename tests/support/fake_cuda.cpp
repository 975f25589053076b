// As much of CUDA's runtime as nvJPEG's callers need, in the place of the real one: streams whose work is done when
// they are synchronized. A thread has no device until it selects one; a stream is used by threads that selected its. A
// device is used only after the setting that threads which wait for it sleep. Errors stay until they are asked for.

#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include <cuda_runtime_api.h>

struct CUstream_st {
  int device;
  std::deque<std::pair<cudaHostFn_t, void*>> work;
};

namespace {

thread_local int current = -1;
thread_local cudaError_t last_error = cudaSuccess;
std::mutex mutex;
std::set<int> sleepy;

cudaError_t result(bool good, cudaError_t error) {
  if (!good) last_error = error;
  return good ? cudaSuccess : error;
}

cudaError_t check(cudaStream_t stream) { return result(stream->device == current, cudaErrorInvalidResourceHandle); }

}  // namespace

extern "C" {

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  const std::scoped_lock lock(mutex);
  if (device_flags == cudaDeviceScheduleBlockingSync && flags == cudaInitDeviceFlagsAreValid) sleepy.insert(device);
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  const std::scoped_lock lock(mutex);
  current = device;
  return result(sleepy.contains(device), cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return result(current >= 0, cudaErrorInvalidDevice);
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "made up"; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (current < 0) return cudaErrorInvalidDevice;
  *stream = new CUstream_st{current, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (check(stream) == cudaSuccess) stream->work.emplace_back(function, data);
  return check(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (check(stream) != cudaSuccess) return check(stream);
  for (; !stream->work.empty(); stream->work.pop_front()) stream->work.front().first(stream->work.front().second);
  return cudaSuccess;
}

}  // extern "C"
