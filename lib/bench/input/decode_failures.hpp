#pragma once

#include <cstdint>
#include <string>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::bench {

/// How many images went wrong, by kind (image/jpeg_decoder.hpp).
struct DecodeFailures {
  std::uint64_t total = 0;  ///< without those that were only warned of
  std::uint64_t warned = 0;
  std::uint64_t truncated = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t not_jpeg = 0;
  std::uint64_t zero_pixels = 0;
  std::uint64_t too_large = 0;
  std::uint64_t too_many_scans = 0;

  void add(image::DecodeFailure failure);
  void add(const DecodeFailures& other);

  void describe(FieldVisitor& v);
};

/// "2 truncated, 1 not_jpeg": those that gave no pixels, by the names that JSON has; empty without any.
std::string kinds_text(const DecodeFailures& failures);

/// Says of images that cannot be decoded how many of `tried` they are, of which kinds, and what that does to rates.
void warn_of_failures(const DecodeFailures& failures, std::uint64_t tried, Context& context);

}  // namespace shardkit::bench
