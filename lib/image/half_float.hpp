#pragma once

#include <cstdint>
#include <span>

namespace shardkit {

/// The IEEE 754 binary16 nearest to `value`, ties to even, as its bits: what hardware and PyTorch's half() give.
/// Beyond 65519.99... comes infinity; a NaN stays one, made quiet, with the upper bits of its payload.
std::uint16_t to_half(float value);

/// The same for a whole row, by F16C where the processor has it. `halves` is as long as `values`.
void to_half(std::span<const float> values, std::span<std::uint16_t> halves);

}  // namespace shardkit
