#include "image/tensor_type.hpp"

namespace shardkit {

std::uint64_t value_bytes(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::f16:
      return 2;
    case TensorType::f32:
      break;
  }
  return 4;
}

}  // namespace shardkit
