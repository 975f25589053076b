#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/context.hpp"
#include "core/error.hpp"
#include "image/fixtures.hpp"
#include "image/jpeg_encoder.hpp"
#include "support/shard_folder.hpp"

namespace shardkit::test {

/// A small JPEG; `number` makes it differ from others.
inline std::string small_jpeg(std::uint32_t number = 0) {
  image::JpegEncoder encoder;
  const Picture picture = make_picture(64 + number % 16, 48);
  return std::string(as_text(encoder.encode(picture.view(), {})));
}

/// A shard of `samples` with an image and a label each.
inline TarBuilder image_shard(std::uint32_t samples, const std::string& prefix) {
  TarBuilder tar;
  for (std::uint32_t i = 0; i < samples; ++i) tar.sample(prefix + std::to_string(i), small_jpeg(i), "7");
  return tar.end();
}

/// The code of the Error that `call` throws.
template <class Call>
ErrorCode error_code_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::logic_error("no error came");
}

/// True when a warning of this code came.
inline bool has_warning(const Context& context, std::string_view code) {
  return std::ranges::any_of(context.warnings(),
                             [&](const shardkit::Finding& warning) { return warning.code == code; });
}

}  // namespace shardkit::test
