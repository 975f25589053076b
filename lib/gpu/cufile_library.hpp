#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <sys/types.h>

#include "gpu/shared_library.hpp"

namespace shardkit::gpu {

// What shardkit uses of cuFile. Declared here, so that its header is not needed to build: the interface is stable.
// tests/gpu/cufile_header_test.cpp compares all of it with cufile.h.

inline constexpr int kCufileSuccess = 0, kCufileDescriptor = 1, kCufileCudaError = 5011;

struct CufileError {
  int error, cuda_error;
};

struct CufileFileDescription {
  int type;
  union {
    int fd;
    void* handle;
  };
  const void* operations;
};

/// The end of CUfileStatsLevel3_t, of which only the ways of reads are declared.
struct CufileGpuStats {
  struct Gpu {
    std::byte before[56];
    std::uint64_t peer_to_peer, nvidia_fs, posix;
    std::byte after[168];
  };
  std::uint32_t gpu_count;
  Gpu gpus[16];
};

/// Room for a CUfileStatsLevel3_t: a call does not pass its size, and the library writes as much as its version has.
struct CufileStats {
  std::byte bytes[16384];
};

/// The first libcufile that counts reads itself; 1150 is 1.15.
inline constexpr int kFirstWithStats = 1150;

/// Where the CufileGpuStats start in the statistics of libcufile's `version`; empty if unknown.
constexpr std::optional<std::size_t> gpu_stats_offset(int version) {
  if (version >= kFirstWithStats && version < 1190) return 1024;
  if (version >= 1190 && version < 1210) return 1136;
  return std::nullopt;
}

/// Else libcufile writes cufile.log into the working folder. A variable set by the user is kept.
inline SharedLibrary load_cufile() {
  ::setenv("CUFILE_LOGFILE_PATH", "/dev/null", 0);
  return {"GPUDirect Storage", with_toolkit_files({"libcufile.so.0"})};
}

/// The functions of libcufile that shardkit uses. The constructor throws Error{unsupported} if it is missing or too
/// old.
struct CufileLibrary {
  using Handle = void*;

  SharedLibrary library = load_cufile();
  CufileError (*driver_open)() = library.need("cuFileDriverOpen");
  CufileError (*driver_close)() = library.need("cuFileDriverClose_v2");
  CufileError (*handle_register)(Handle*, CufileFileDescription*) = library.need("cuFileHandleRegister");
  void (*handle_deregister)(Handle) = library.need("cuFileHandleDeregister");
  CufileError (*buffer_register)(const void*, std::size_t, int) = library.need("cuFileBufRegister");
  CufileError (*buffer_deregister)(const void*) = library.need("cuFileBufDeregister");
  ssize_t (*read)(Handle, void* base, std::size_t, off_t in_file, off_t in_memory) = library.need("cuFileRead");
  CufileError (*version)(int*) = library.want("cuFileGetVersion");
  // Null in libraries before 1.15.
  CufileError (*set_stats_level)(int) = library.want("cuFileSetStatsLevel");
  CufileError (*stats_start)() = library.want("cuFileStatsStart");
  CufileError (*stats)(CufileStats*) = library.want("cuFileGetStatsL3");
};

}  // namespace shardkit::gpu
