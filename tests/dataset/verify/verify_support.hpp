#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "dataset/index/index.hpp"
#include "dataset/verify/verify.hpp"
#include "support/fake_image.hpp"
#include "support/shard_folder.hpp"

namespace shardkit::test {

inline dataset::VerifyResult verify_path(const std::string& path, dataset::VerifyOptions options = {}) {
  Context context;
  options.shards = {path};
  return dataset::verify(options, context);
}

/// Verifies one archive in a folder of its own.
inline dataset::VerifyResult verify_bytes(const std::string& archive) {
  ShardFolder folder;
  folder.write("s.tar", archive);
  return verify_path(folder.path());
}
inline dataset::VerifyResult verify_tar(const TarBuilder& tar) { return verify_bytes(tar.bytes()); }

/// The codes found, in the order of the lines.
inline std::vector<std::string> codes(const dataset::VerifyResult& result) {
  std::vector<std::string> names;
  for (const dataset::Problem& problem : result.problems) names.push_back(problem.code);
  return names;
}

inline const dataset::Problem& problem(const dataset::VerifyResult& result, std::string_view code) {
  const auto found = std::find_if(result.problems.begin(), result.problems.end(),
                                  [&](const dataset::Problem& item) { return item.code == code; });
  REQUIRE(found != result.problems.end());
  return *found;
}

inline void index_folder(const ShardFolder& folder) {
  Context context;
  shardkit::dataset::index({.shards = {folder.path()}, .threads = std::nullopt}, context);
}

/// A good archive of samples "<prefix>0" up, labeled by their number.
inline TarBuilder good_samples(int count, const std::string& prefix = "k") {
  TarBuilder builder;
  for (int i = 0; i < count; ++i) {
    builder.sample(prefix + std::to_string(i), fake_jpeg("image " + std::to_string(i)), std::to_string(i));
  }
  return builder.end();
}

using Codes = std::vector<std::string>;

}  // namespace shardkit::test
