#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/problem.hpp"

namespace shardkit::dataset {

enum class CacheCheckDepth {
  structure,  ///< names and sizes
  checksum    ///< also every byte
};
constexpr auto enum_names(CacheCheckDepth) { return std::to_array<std::string_view>({"structure", "checksum"}); }

struct CacheCheckOptions {
  std::string folder;
  CacheCheckDepth depth = CacheCheckDepth::checksum;
  bool repair = false;
  std::optional<std::uint64_t> threads;

  void describe(FieldList& v);
};

struct CacheCheckResult {
  static constexpr std::size_t kMostProblems = 10'000;

  CacheCheckDepth depth = CacheCheckDepth::checksum;
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  double bytes_per_second = 0;
  std::uint64_t problems_total = 0;
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  std::vector<Problem> problems;
  std::uint64_t discarded = 0;
  std::vector<std::string> remedies;

  void describe(FieldList& v);
  bool has_findings() const { return errors > 0; }
};

/// Checks that staged files are still complete and unchanged: `shardctl cache check`. Looks for every file that a
/// journal names and, with depth checksum, compares its content with the XXH3-128 it had when it was staged. Folders
/// that are being staged are skipped with a warning. A marker that names more than its journal is an error. With
/// `repair`, marks damaged files and removes the markers of incomplete folders, so that the next stage copies these
/// files again; damaged files are also removed, unless the folder is leased: then they stay until they are replaced.
/// Problems are in the result; throws the errors of cache_folders().
CacheCheckResult cache_check(const CacheCheckOptions& options, Context& context);

}  // namespace shardkit::dataset
