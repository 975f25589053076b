#include "gpu/cufile_library.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace shardkit {
namespace {

/// Else libcufile writes cufile.log into the working folder. Who set the variable knows better.
SharedLibrary load_quietly() {
  ::setenv("CUFILE_LOGFILE_PATH", "/dev/null", 0);
  return {"GPUDirect Storage", {"libcufile.so.0"}};
}

}  // namespace

CufileLibrary::CufileLibrary()
    : library(load_quietly()),
      driver_open(library.function<decltype(cuFileDriverOpen)>("cuFileDriverOpen")),
      driver_close(library.function<decltype(cuFileDriverClose)>("cuFileDriverClose_v2")),
      handle_register(library.function<decltype(cuFileHandleRegister)>("cuFileHandleRegister")),
      handle_deregister(library.function<decltype(cuFileHandleDeregister)>("cuFileHandleDeregister")),
      buffer_register(library.function<decltype(cuFileBufRegister)>("cuFileBufRegister")),
      buffer_deregister(library.function<decltype(cuFileBufDeregister)>("cuFileBufDeregister")),
      read(library.function<decltype(cuFileRead)>("cuFileRead")),
      set_stats_level(library.find_function<decltype(cuFileSetStatsLevel)>("cuFileSetStatsLevel")),
      stats_start(library.find_function<decltype(cuFileStatsStart)>("cuFileStatsStart")),
      stats(library.find_function<decltype(cuFileGetStatsL3)>("cuFileGetStatsL3")) {}

std::string cufile_text(CUfileError_t error) {
  if (error.err == CU_FILE_CUDA_DRIVER_ERROR)
    return fmt::format("CUDA driver error {}", static_cast<int>(error.cu_err));
  return fmt::format("{}: {}", static_cast<int>(error.err), cufileop_status_error(error.err));
}

std::string cufile_read_text(ssize_t result) {
  if (result == -1) return std::strerror(errno);
  return fmt::format("{}: {}", -result, cufileop_status_error(static_cast<CUfileOpError>(-result)));
}

}  // namespace shardkit
