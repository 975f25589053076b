#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cufile.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/cuda_queue.hpp"
#include "gpu/direct_storage.hpp"
#include "gpu/shared_library.hpp"

namespace shardkit::gpu {
namespace {

/// Else libcufile writes cufile.log into the working folder. A variable set by the user is kept.
SharedLibrary load_quietly() {
  ::setenv("CUFILE_LOGFILE_PATH", "/dev/null", 0);
  return {"GPUDirect Storage", {"libcufile.so.0"}};
}

/// The functions of libcufile that shardkit uses. The constructor throws Error{unsupported} if it is missing or too
/// old.
struct CufileLibrary {
  SharedLibrary library = load_quietly();
  decltype(cuFileDriverOpen)* driver_open = library.need("cuFileDriverOpen");
  decltype(cuFileDriverClose)* driver_close = library.need("cuFileDriverClose_v2");
  decltype(cuFileHandleRegister)* handle_register = library.need("cuFileHandleRegister");
  decltype(cuFileHandleDeregister)* handle_deregister = library.need("cuFileHandleDeregister");
  decltype(cuFileBufRegister)* buffer_register = library.need("cuFileBufRegister");
  decltype(cuFileBufDeregister)* buffer_deregister = library.need("cuFileBufDeregister");
  decltype(cuFileRead)* read = library.need("cuFileRead");
  // Null in libraries before 1.15.
  decltype(cuFileSetStatsLevel)* set_stats_level = library.want("cuFileSetStatsLevel");
  decltype(cuFileStatsStart)* stats_start = library.want("cuFileStatsStart");
  decltype(cuFileGetStatsL3)* stats = library.want("cuFileGetStatsL3");
};

/// "5033: NVFS driver initialization error"
std::string cufile_text(CUfileError_t error) {
  if (error.err == CU_FILE_CUDA_DRIVER_ERROR)
    return fmt::format("CUDA driver error {}", static_cast<int>(error.cu_err));
  return fmt::format("{}: {}", static_cast<int>(error.err), cufileop_status_error(error.err));
}

/// The same of a negative result of a read.
std::string cufile_read_text(ssize_t result) {
  if (result == -1) return std::strerror(errno);
  return fmt::format("{}: {}", -result, cufileop_status_error(static_cast<CUfileOpError>(-result)));
}

class CufileFile final : public DirectFile {
 public:
  CufileFile(const CufileLibrary& cufile, int device, CUfileHandle_t handle, std::string path)
      : cufile_(cufile), device_(device), handle_(handle), path_(std::move(path)) {}
  ~CufileFile() override { cufile_.handle_deregister(handle_); }
  CufileFile(const CufileFile&) = delete;
  CufileFile& operator=(const CufileFile&) = delete;

  void read(DeviceSpan to, std::uint64_t offset) override {
    select_cuda_device(device_);  // cuFile asks for a CUDA context in the calling thread
    for (std::size_t done = 0; done < to.size;) {
      const ssize_t got =
          cufile_.read(handle_, to.data, to.size - done, static_cast<off_t>(offset + done), static_cast<off_t>(done));
      if (got <= 0) {
        const std::string why = got == 0 ? "the file ends before its reported size" : cufile_read_text(got);
        throw Error(ErrorCode::io, fmt::format("cuFile cannot read '{}' at byte {}: {}", path_, offset + done, why),
                    path_, offset + done);
      }
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  const CufileLibrary& cufile_;
  int device_;
  CUfileHandle_t handle_;
  std::string path_;
};

class CufileStorage final : public DirectStorage {
 public:
  explicit CufileStorage(int device) : device_(device) {
    select_cuda_device(device_);
    const CUfileError_t result = cufile_.driver_open();
    if (result.err != CU_FILE_SUCCESS) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("no GPUDirect Storage: cuFileDriverOpen failed: {}", cufile_text(result)));
    }
    // Level 3 counts the paths of reads.
    counts_ = cufile_.set_stats_level && cufile_.stats_start && cufile_.stats &&
              cufile_.set_stats_level(3).err == CU_FILE_SUCCESS && cufile_.stats_start().err == CU_FILE_SUCCESS;
  }
  ~CufileStorage() override { cufile_.driver_close(); }
  CufileStorage(const CufileStorage&) = delete;
  CufileStorage& operator=(const CufileStorage&) = delete;

  std::unique_ptr<DirectFile> open(int fd, const std::string& path) override {
    select_cuda_device(device_);
    CUfileDescr_t description{};
    description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = fd;
    CUfileHandle_t handle = nullptr;
    const CUfileError_t result = cufile_.handle_register(&handle, &description);
    if (result.err != CU_FILE_SUCCESS) {
      throw Error(ErrorCode::unsupported, At{path}, "cuFile does not support '{}': {}", path, cufile_text(result));
    }
    return std::make_unique<CufileFile>(cufile_, device_, handle, path);
  }

  bool register_memory(DeviceSpan memory) override {
    select_cuda_device(device_);
    return cufile_.buffer_register(memory.data, memory.size, 0).err == CU_FILE_SUCCESS;
  }

  void unregister_memory(DeviceSpan memory) override { cufile_.buffer_deregister(memory.data); }

  std::optional<DirectReads> reads() const override {
    const auto stats = std::make_unique<CUfileStatsLevel3_t>();
    if (!counts_ || cufile_.stats(stats.get()).err != CU_FILE_SUCCESS) return std::nullopt;
    DirectReads sum;
    for (std::uint32_t gpu = 0; gpu < stats->num_gpus && gpu < std::size(stats->per_gpu_stats); ++gpu) {
      sum.nvidia_fs += stats->per_gpu_stats[gpu].n_nvfs_reads;
      sum.peer_to_peer += stats->per_gpu_stats[gpu].n_p2p_reads;
      sum.posix += stats->per_gpu_stats[gpu].n_posix_reads;
    }
    return sum;
  }

 private:
  const CufileLibrary cufile_;
  int device_;
  bool counts_ = false;
};

}  // namespace

std::unique_ptr<DirectStorage> open_direct_storage(const Device& device) {
  return std::make_unique<CufileStorage>(static_cast<int>(device.facts().index));
}

}  // namespace shardkit::gpu
