// A libcufile.so.0 for tests, in host memory. As cuFile it wants a device to be current in the calling thread. A read
// into registered memory must name its start: any other address in it is counted as read through the host, as cuFile
// does. FAKE_CUFILE_OPEN=5001 is the error of cuFileDriverOpen; FAKE_CUFILE_VERSION=1190 is its version; more than 1
// MiB takes several reads.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "gpu/cufile_library.hpp"

using namespace shardkit::gpu;

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

const std::byte* registered = nullptr;
std::uint64_t direct_reads = 0;
std::uint64_t buffered_reads = 0;

bool has_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess;
}

int library_version() {
  const char* const version = std::getenv("FAKE_CUFILE_VERSION");
  return version ? std::atoi(version) : 1150;
}

}  // namespace

extern "C" {

CufileError cuFileDriverOpen() {
  const char* const error = std::getenv("FAKE_CUFILE_OPEN");
  return {error ? std::atoi(error) : kCufileSuccess, 0};
}
CufileError cuFileDriverClose_v2() { return {}; }

CufileError cuFileHandleRegister(void** handle, CufileFileDescription* description) {
  if (description->type != kCufileDescriptor || description->operations) return {5022, 0};
  *handle = new int(description->fd);
  return {};
}
void cuFileHandleDeregister(void* handle) { delete static_cast<int*>(handle); }

CufileError cuFileBufRegister(const void* memory, std::size_t, int) {
  registered = static_cast<const std::byte*>(memory);
  return {has_device() ? kCufileSuccess : 5047, 0};
}
CufileError cuFileBufDeregister(const void* memory) {
  if (memory != registered) return {5024, 0};
  registered = nullptr;
  return {};
}

ssize_t cuFileRead(void* handle, void* base, std::size_t size, off_t in_file, off_t in_memory) {
  if (!has_device()) return -5047;
  ++(base == registered ? direct_reads : buffered_reads);
  return ::pread(*static_cast<int*>(handle), static_cast<std::byte*>(base) + in_memory, std::min(size, kMostBytes),
                 in_file);
}

CufileError cuFileSetStatsLevel(int level) { return {level == 3 ? kCufileSuccess : 5022, 0}; }
CufileError cuFileStatsStart() { return {}; }
CufileError cuFileGetVersion(int* version) {
  *version = library_version();
  return {};
}
CufileError cuFileGetStatsL3(CufileStats* stats) {
  CufileGpuStats counts{};
  counts.gpu_count = 2;
  counts.gpus[0].nvidia_fs = direct_reads;
  counts.gpus[1].posix = buffered_reads;
  // A version that is not known has its counts elsewhere.
  std::memcpy(stats->bytes + gpu_stats_offset(library_version()).value_or(2048), &counts, sizeof(counts));
  return {};
}

}  // extern "C"
