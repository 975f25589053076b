// A libcufile.so.0 for tests, in host memory. As cuFile it wants a device to be current in the calling thread, and
// refuses what cuFile refuses: a driver that is opened twice, memory or files that are registered twice, reads past the
// end of registered memory, statistics that nobody started. A read into registered memory must name its start: any
// other address in it is counted as read through the host, as cuFile does. FAKE_CUFILE_OPEN=5001 is the error of
// cuFileDriverOpen; FAKE_CUFILE_VERSION=1190 is its version, which has the statistics where that version has them, and
// before 1150 has none; more than 1 MiB takes several reads.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "gpu/cufile_library.hpp"

using namespace shardkit::gpu;

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

constexpr int kNotInitialized = 5001, kInvalidRange = 5017, kInvalidValue = 5022, kMemoryAlreadyRegistered = 5023,
              kMemoryNotRegistered = 5024, kAlreadyOpen = 5026, kFileAlreadyRegistered = 5028, kNoContext = 5047;

bool is_open = false;
int stats_level = 0;
bool counts = false;
std::map<const std::byte*, std::size_t> registered;
std::set<int> files;
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
  if (error) return {std::atoi(error), 0};
  if (std::exchange(is_open, true)) return {kAlreadyOpen, 0};
  return {};
}
CufileError cuFileDriverClose_v2() {
  counts = false;
  return {std::exchange(is_open, false) ? kCufileSuccess : kNotInitialized, 0};
}

CufileError cuFileHandleRegister(void** handle, CufileFileDescription* description) {
  if (!is_open) return {kNotInitialized, 0};
  if (description->type != kCufileDescriptor || description->operations) return {kInvalidValue, 0};
  if (!files.insert(description->fd).second) return {kFileAlreadyRegistered, 0};
  *handle = new int(description->fd);
  return {};
}
void cuFileHandleDeregister(void* handle) {
  files.erase(*static_cast<int*>(handle));
  delete static_cast<int*>(handle);
}

CufileError cuFileBufRegister(const void* memory, std::size_t size, int) {
  if (!is_open) return {kNotInitialized, 0};
  if (!has_device()) return {kNoContext, 0};
  const bool is_new = registered.emplace(static_cast<const std::byte*>(memory), size).second;
  return {is_new ? kCufileSuccess : kMemoryAlreadyRegistered, 0};
}
CufileError cuFileBufDeregister(const void* memory) {
  return {registered.erase(static_cast<const std::byte*>(memory)) > 0 ? kCufileSuccess : kMemoryNotRegistered, 0};
}

ssize_t cuFileRead(void* handle, void* base, std::size_t size, off_t in_file, off_t in_memory) {
  if (!has_device()) return -kNoContext;
  const auto target = registered.find(static_cast<const std::byte*>(base));
  if (target != registered.end() && static_cast<std::size_t>(in_memory) + size > target->second) return -kInvalidRange;
  ++(target != registered.end() ? direct_reads : buffered_reads);
  return ::pread(*static_cast<int*>(handle), static_cast<std::byte*>(base) + in_memory, std::min(size, kMostBytes),
                 in_file);
}

CufileError cuFileSetStatsLevel(int level) {
  if (level < 0 || level > 3 || library_version() < kFirstWithStats) return {kInvalidValue, 0};
  stats_level = level;
  return {};
}
CufileError cuFileStatsStart() {
  if (!is_open) return {kNotInitialized, 0};
  if (stats_level == 0) return {kInvalidValue, 0};
  counts = true;
  return {};
}
CufileError cuFileGetVersion(int* version) {
  *version = library_version();
  return {};
}
CufileError cuFileGetStatsL3(CufileStats* stats) {
  if (!counts || stats_level < 3) return {kInvalidValue, 0};
  CufileGpuStats gpus{};
  gpus.gpu_count = 2;
  gpus.gpus[0].nvidia_fs = direct_reads;
  gpus.gpus[1].posix = buffered_reads;
  // It writes all of its structure, whose size depends on the version; one that is not known has its counts elsewhere.
  const std::size_t start = gpu_stats_offset(library_version()).value_or(2048);
  std::memset(stats->bytes, 0xff, start);
  std::memcpy(stats->bytes + start, &gpus, sizeof(gpus));
  return {};
}

}  // extern "C"
