#pragma once

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"

namespace shardkit::test {

inline ConvertResult run(const ConvertOptions& options) {
  Context ctx;
  return convert(options, ctx);
}

/// The text with which a convert is refused; it fails the test unless the error has `code`.
inline std::string refusal(const ConvertOptions& options, ErrorCode code) {
  try {
    run(options);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("converted as if nothing were wrong");
  return {};
}

inline bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Converts an image folder into exactly `shards` shards.
inline ConvertResult convert_tree(const std::string& source, const std::string& target, std::uint64_t shards = 4,
                                  bool shuffled = true) {
  ConvertOptions options;
  options.source = source;
  options.target = target;
  options.sharding.shards = shards;
  options.sharding.no_shuffle = !shuffled;
  Context ctx;
  return convert(options, ctx);
}

}  // namespace shardkit::test
