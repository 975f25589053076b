#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/bench_data.hpp"
#include "bench/read/read.hpp"

namespace shardkit::test {

inline constexpr std::uint64_t kMiB = 1U << 20U;

/// Two shards without index: 30 and 12 samples.
inline void write_shards(const ShardFolder& folder) {
  folder.write("a.tar", image_shard(30, "a"));
  folder.write("b.tar", image_shard(12, "b"));
}

inline bench::ReadOptions read_options(const std::string& path) {
  bench::ReadOptions options;
  options.paths = {path};
  options.threads = 3;
  return options;
}

inline bench::ReadResult read_quietly(const bench::ReadOptions& options) {
  Context context;
  return bench::read(options, context);
}

inline ErrorCode code_of(const bench::ReadOptions& options) {
  return error_code_of([&] { read_quietly(options); });
}

inline bool has_hint(const bench::ReadResult& result, const std::string& part) {
  return std::ranges::any_of(result.hints,
                             [&](const std::string& hint) { return hint.find(part) != std::string::npos; });
}

/// Zeros that take no room on disk.
inline void write_zeros(const ShardFolder& folder, const std::string& name, std::uint64_t bytes) {
  folder.write(name, "");
  std::filesystem::resize_file(folder.path(name), bytes);
}

}  // namespace shardkit::test
