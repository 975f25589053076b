#include "image/tensor_type.hpp"

#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shardkit::image {

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

namespace {

void to_half_portable(std::span<const float> values, std::span<std::uint16_t> halves) {
  for (std::size_t i = 0; i < values.size(); ++i) halves[i] = to_half(values[i]);
}

#if defined(__x86_64__)
[[gnu::target("avx,f16c")]] void to_half_f16c(std::span<const float> values, std::span<std::uint16_t> halves) {
  constexpr std::size_t kLanes = 8;
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves.data() + i), packed);
  }
  _mm256_zeroupper();
  to_half_portable(values.subspan(i), halves.subspan(i));
}

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("avx") != 0;
  return has;
}
#endif

}  // namespace

void to_half(std::span<const float> values, std::span<std::uint16_t> halves) {
#if defined(__x86_64__)
  if (has_f16c()) return to_half_f16c(values, halves);
#endif
  to_half_portable(values, halves);
}

}  // namespace shardkit::image
