#pragma once

#include <cstdint>

#include "bench/decode/decode.hpp"

namespace shardkit {

std::uint64_t decode_threads(const DecodeBenchOptions& options);

/// Throws Error{usage} that names the option.
void check_decode_options(const DecodeBenchOptions& options, std::uint64_t threads);

}  // namespace shardkit
