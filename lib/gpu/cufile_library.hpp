#pragma once

#include <string>

#include <cufile.h>

#include "gpu/shared_library.hpp"

namespace shardkit {

/// The functions of libcufile that shardkit uses.
struct CufileLibrary {
  /// Loads it. Throws Error{unsupported} where it is missing or too old.
  CufileLibrary();

  SharedLibrary library;
  decltype(cuFileDriverOpen)* driver_open;
  decltype(cuFileDriverClose)* driver_close;
  decltype(cuFileHandleRegister)* handle_register;
  decltype(cuFileHandleDeregister)* handle_deregister;
  decltype(cuFileBufRegister)* buffer_register;
  decltype(cuFileBufDeregister)* buffer_deregister;
  decltype(cuFileRead)* read;
  // Null in libraries before 1.15.
  decltype(cuFileSetStatsLevel)* set_stats_level;
  decltype(cuFileStatsStart)* stats_start;
  decltype(cuFileGetStatsL3)* stats;
};

/// "5033: NVFS driver initialization error"
std::string cufile_text(CUfileError_t error);
/// The same of a negative result of a read.
std::string cufile_read_text(ssize_t result);

}  // namespace shardkit
