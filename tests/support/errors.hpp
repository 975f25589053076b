#pragma once

#include <string>

#include "core/error.hpp"

namespace shardkit_test {

/// How a call failed; `failed` is false when it did not.
struct Failure {
  bool failed = false;
  shardkit::ErrorCode code = shardkit::ErrorCode::io;
  std::string text;
  std::string path;

  bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
  bool operator==(shardkit::ErrorCode expected) const { return failed && code == expected; }
};

/// Runs `action` and catches its Error.
Failure failure_of(const auto& action) {
  try {
    action();
  } catch (const shardkit::Error& error) {
    return {true, error.code(), error.what(), error.path()};
  }
  return {};
}

}  // namespace shardkit_test
