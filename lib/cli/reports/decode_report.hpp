#pragma once

#include <string>

#include "bench/decode/decode.hpp"

namespace shardkit {

/// `iobench decode` in text: first how many images a second, of what and by what; then all fields.
std::string render_decode(const DecodeResult& result, bool colour);

}  // namespace shardkit
