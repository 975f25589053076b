// As much of CUDA's runtime as nvJPEG's callers need, in the place of the real one: streams whose work is done when
// they are synchronized. A thread has no device until it selects one; a stream is used by threads that selected its.

#include <deque>
#include <utility>

#include <cuda_runtime_api.h>

struct CUstream_st {
  int device;
  std::deque<std::pair<cudaHostFn_t, void*>> work;
};

namespace {

thread_local int current = -1;

cudaError_t check(cudaStream_t stream) {
  return stream->device == current ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

}  // namespace

extern "C" {

cudaError_t cudaSetDevice(int device) {
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return current < 0 ? cudaErrorInvalidDevice : cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
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
