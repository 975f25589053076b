#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

/// How often a test of random cases tries: `usual` times, or with `scripts/test --soak` as often as an issue asks for.
inline std::uint64_t tries(std::uint64_t usual, std::uint64_t soak) {
  return std::getenv("SHARDKIT_SOAK") != nullptr ? soak : usual;
}

/// The seed of random cases: the same in each run unless SHARDKIT_SEED gives another.
inline std::uint64_t test_seed() {
  const char* seed = std::getenv("SHARDKIT_SEED");
  return seed != nullptr ? std::stoull(seed) : 1;
}
