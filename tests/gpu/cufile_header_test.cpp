// Compares cufile_library.hpp with NVIDIA's header where that is installed. It only has to compile.

#include <cstddef>

#include <cufile.h>

#include "gpu/cufile_library.hpp"
#include "support/same_interface.hpp"

using namespace shardkit::gpu;
using shardkit_test::kSameCall;

#define CHECK_CALL(library, member, function) static_assert(kSameCall<decltype(library::member), decltype(&::function)>)

static_assert(kCufileSuccess == CU_FILE_SUCCESS);
static_assert(kCufileCudaError == CU_FILE_CUDA_DRIVER_ERROR);
static_assert(kCufileDescriptor == CU_FILE_HANDLE_TYPE_OPAQUE_FD);
static_assert(offsetof(CufileError, cuda_error) == offsetof(CUfileError_t, cu_err));
static_assert(sizeof(CufileFileDescription) == sizeof(CUfileDescr_t));
static_assert(offsetof(CufileFileDescription, fd) == offsetof(CUfileDescr_t, handle));
static_assert(sizeof(CufileStats) >= sizeof(CUfileStatsLevel3_t));
constexpr std::size_t kGpuStats = offsetof(CUfileStatsLevel3_t, num_gpus);
static_assert(kGpuStats == gpu_stats_offset(1150) || kGpuStats == gpu_stats_offset(1190));
static_assert(kGpuStats + sizeof(CufileGpuStats) == sizeof(CUfileStatsLevel3_t));
static_assert(kGpuStats + offsetof(CufileGpuStats, gpus) == offsetof(CUfileStatsLevel3_t, per_gpu_stats));
static_assert(offsetof(CufileGpuStats::Gpu, peer_to_peer) == offsetof(CUfilePerGpuStats_t, n_p2p_reads));
static_assert(offsetof(CufileGpuStats::Gpu, nvidia_fs) == offsetof(CUfilePerGpuStats_t, n_nvfs_reads));
static_assert(offsetof(CufileGpuStats::Gpu, posix) == offsetof(CUfilePerGpuStats_t, n_posix_reads));

CHECK_CALL(CufileLibrary, driver_open, cuFileDriverOpen);
CHECK_CALL(CufileLibrary, driver_close, cuFileDriverClose_v2);
CHECK_CALL(CufileLibrary, handle_register, cuFileHandleRegister);
CHECK_CALL(CufileLibrary, handle_deregister, cuFileHandleDeregister);
CHECK_CALL(CufileLibrary, buffer_register, cuFileBufRegister);
CHECK_CALL(CufileLibrary, buffer_deregister, cuFileBufDeregister);
CHECK_CALL(CufileLibrary, read, cuFileRead);
CHECK_CALL(CufileLibrary, set_stats_level, cuFileSetStatsLevel);
CHECK_CALL(CufileLibrary, stats_start, cuFileStatsStart);
CHECK_CALL(CufileLibrary, version, cuFileGetVersion);
// The size of the statistics depends on the version, so that only the other parts of the call can be compared.
static_assert(kSameCall<CufileError (*)(CUfileStatsLevel3_t*), decltype(&::cuFileGetStatsL3)>);
