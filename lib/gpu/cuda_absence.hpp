#pragma once

#include <string>
#include <string_view>

namespace shardkit {

/// Why cudaGetDeviceCount gave no devices, in one line. `error` and its name are what it returned (0 with no device),
/// `driver` and `runtime` are versions as CUDA writes them, 13000 for 13.0; a `driver` of 0 is none. CUDA's error 35
/// stands for no driver as well as for one that is too old.
std::string cuda_absence(int error, std::string_view error_name, int driver, int runtime);

}  // namespace shardkit
