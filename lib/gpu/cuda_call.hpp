#pragma once

#include <cuda_runtime_api.h>

namespace shardkit {

/// Throws what a call of CUDA's runtime says when it is not success: Error{no_space} where memory is short, else
/// Error{io}. `action` as in "copy to the GPU".
void check_cuda(cudaError_t result, const char* action);

/// The device is a property of the calling thread. Any call of a thread without one makes a context on GPU 0, which may
/// be another's.
void select_cuda_device(int device);

}  // namespace shardkit
