// Over a CUDA runtime of our own (tests/support/fake_cuda.cpp).

#include "gpu/cuda_queue.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit_test;

namespace {

/// A call that fails: nothing selected a device in this thread.
cudaError_t failing_call() {
  int device = 0;
  return cudaGetDevice(&device);
}

}  // namespace

TEST_CASE("an error that does not matter, and one that was reported, are not reported again by the next call") {
  CHECK_FALSE(is_success(failing_call()));
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(failure_of([] { check_cuda(failing_call(), "try it"); }).says("cannot try it: CUDA error 101: made up"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("errors that have a remedy name it") {
  CHECK(failure_of([] { check_cuda(cudaErrorECCUncorrectable, "copy"); }).says("made up: GPU memory is damaged"));
  CHECK(failure_of([] { check_cuda(cudaErrorDevicesUnavailable, "copy"); }).says("compute mode"));
  CHECK(failure_of([] { check_cuda(cudaErrorSystemNotReady, "copy"); }).says("nvidia-fabricmanager"));
}

TEST_CASE("threads that wait for a GPU sleep") {
  const CudaQueue queue(3);  // the runtime refuses a device whose threads would spin
  CHECK(queue.use() == queue.handle());
}
