#pragma once

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"

namespace shardkit::test {

/// The stages that the progress line announces are those that a convert has.
inline dataset::ConvertResult run(const dataset::ConvertOptions& options) {
  Context context;
  dataset::ConvertResult result = dataset::convert(options, context);
  CHECK(context.progress().stage == context.progress().stages);
  return result;
}

/// The text with which a convert is refused; it fails the test unless the error has `code`.
inline std::string refusal(const dataset::ConvertOptions& options, ErrorCode code) {
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
inline dataset::ConvertResult convert_tree(const std::string& source, const std::string& target,
                                           std::uint64_t shards = 4, bool shuffled = true,
                                           dataset::Validate validate = dataset::Validate::magic) {
  dataset::ConvertOptions options;
  options.source = source;
  options.target = target;
  options.sharding.shards = shards;
  options.sharding.no_shuffle = !shuffled;
  options.sharding.validate = validate;
  Context context;
  return dataset::convert(options, context);
}

}  // namespace shardkit::test
