#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/bytes.hpp"
#include "core/error.hpp"

/// What fuzz targets share. A target is one LLVMFuzzerTestOneInput(); it ends by abort() when a promise is broken.
/// Built with libFuzzer in the preset `fuzz`, and with replay.cpp otherwise, so that the suite runs every input ever
/// kept.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace shardkit::fuzz {

inline Bytes bytes_of(const std::uint8_t* data, std::size_t size) { return std::as_bytes(std::span(data, size)); }

/// Ends the run unless `held`.
inline void promise(bool held) {
  if (!held) __builtin_trap();
}

/// Runs `work`, which may fail with an Error of one of these codes and with nothing else.
template <class Work>
void may_fail_with(std::initializer_list<ErrorCode> codes, Work work) {
  try {
    work();
  } catch (const Error& error) {
    bool allowed = false;
    for (const ErrorCode code : codes) allowed = allowed || code == error.code();
    promise(allowed);
  }
}

}  // namespace shardkit::fuzz
