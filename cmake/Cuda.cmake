# Finds a CUDA toolkit, or leaves CUDA out. Sets SHARDKIT_HAVE_CUDA and says in a line which it is. No CUDA library but the
# static runtime is linked: nvJPEG, cuFile and NVML are loaded when asked for, and their headers are not needed. Only tests
# compare our declarations with them (tests/gpu).

set(SHARDKIT_CUDA AUTO CACHE STRING "CUDA: AUTO (where a toolkit is found), ON (an error where none is) or OFF")
set_property(CACHE SHARDKIT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SHARDKIT_CUDA_HEADERS "${PROJECT_SOURCE_DIR}/build/cuda-headers" CACHE PATH
  "Headers for those tests which the toolkit lacks; scripts/install-deps --cuda puts them there")
if(NOT SHARDKIT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SHARDKIT_CUDA is AUTO, ON or OFF, not '${SHARDKIT_CUDA}'")
endif()

# The first toolkit that knows compute capabilities 10.0 and 12.0.
set(least_cuda 12.8)

# Sets `result` to why CUDA cannot be had; empty when it can. Sets CMAKE_CUDA_COMPILER.
function(shardkit_why_no_cuda result)
  if(NOT CMAKE_CUDA_COMPILER AND "$ENV{CUDACXX}" STREQUAL "")
    find_program(SHARDKIT_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
    mark_as_advanced(SHARDKIT_NVCC)
    if(NOT SHARDKIT_NVCC)
      set(${result} "nvcc is neither in PATH nor in /usr/local/cuda/bin" PARENT_SCOPE)
      return()
    endif()
    set(CMAKE_CUDA_COMPILER "${SHARDKIT_NVCC}" CACHE FILEPATH "The CUDA compiler")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${result} "nvcc does not compile a CUDA source with this host compiler (CMakeFiles/CMakeError.log says more)"
      PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" version "${version}")
  if(NOT version)
    set(${result} "'${CMAKE_CUDA_COMPILER}' is no nvcc that runs" PARENT_SCOPE)
    return()
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS least_cuda)
    set(${result} "nvcc is of CUDA ${CMAKE_MATCH_1}, and shardkit wants ${least_cuda} or later" PARENT_SCOPE)
    return()
  endif()
  set(${result} "" PARENT_SCOPE)
endfunction()

set(SHARDKIT_HAVE_CUDA FALSE)
if(SHARDKIT_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: left out (SHARDKIT_CUDA=OFF)")
else()
  # "native" would ask for a GPU. The last one also embeds PTX, for devices that are newer still.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "75;80-real;90-real;100-real;120")
  endif()
  shardkit_why_no_cuda(why_no_cuda)
  if(why_no_cuda AND SHARDKIT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SHARDKIT_CUDA=ON, but ${why_no_cuda}.\n"
      "-DCMAKE_CUDA_COMPILER=.../bin/nvcc names another toolkit; -DSHARDKIT_CUDA=OFF builds without one.")
  elseif(why_no_cuda)
    message(STATUS "CUDA: left out: ${why_no_cuda}")
  else()
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc 13 has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    # Of a project that requires 3.25, CMake 3.25 expects the library nvToolsExt, which CUDA 13 does not have.
    set(required_version "${CMAKE_MINIMUM_REQUIRED_VERSION}")
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_MINIMUM_REQUIRED_VERSION "${required_version}")
    set(SHARDKIT_HAVE_CUDA TRUE)
    message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
  endif()
endif()
