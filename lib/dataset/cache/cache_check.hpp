#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/problem.hpp"

namespace shardkit::dataset {

struct CacheCheckOptions {
  std::string folder;
  bool quick = false;
  bool repair = false;
  std::optional<std::uint64_t> threads;

  void describe(FieldVisitor& v);
};

struct CacheCheckResult {
  static constexpr std::size_t kMostProblems = 10'000;

  bool quick = false;
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

  void describe(FieldVisitor& v);
  bool has_findings() const { return errors > 0; }
};

/// Is what was staged still whole and right: `shardctl cache check`. Every file that a journal names is looked for and,
/// unless `quick`, read and held against the XXH3-128 that it had when it was staged. Folders that are being staged are
/// passed over with a warning. A marker that says more than its journal names is an error. With `repair` damaged files
/// of folders that nobody leases are removed, and the marker of each folder that lacks anything, so that nobody takes
/// it for whole and the next stage brings what is missing; leased folders are left alone, with a warning. Problems are
/// in the result; throws what cache_folders() throws.
CacheCheckResult cache_check(const CacheCheckOptions& options, Context& ctx);

}  // namespace shardkit::dataset
