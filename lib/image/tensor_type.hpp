#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/fields.hpp"

namespace shardkit {

/// How a value of a decoded image is stored.
enum class TensorType { u8, f16, f32 };
template <>
struct EnumNames<TensorType> {
  static constexpr std::array<std::string_view, 3> names{"u8", "f16", "f32"};
};

/// In which order: plane by plane, or pixel by pixel (PyTorch's channels_last).
enum class TensorLayout { nchw, nhwc };
template <>
struct EnumNames<TensorLayout> {
  static constexpr std::array<std::string_view, 2> names{"nchw", "nhwc"};
};

/// Bytes of one value.
std::uint64_t value_bytes(TensorType type);

}  // namespace shardkit
