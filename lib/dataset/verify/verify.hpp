#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/inputs.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

enum class VerifyDepth {
  auto_,      ///< checksum if manifest or indexes contain checksums, else structure
  structure,  ///< headers, names, labels, counts
  checksum,   ///< also every byte
  decode,     ///< also every image; bytes are compared if there are checksums
};
constexpr auto enum_names(VerifyDepth) {
  return std::to_array<std::string_view>({"auto", "structure", "checksum", "decode"});
}

struct VerifyOptions {
  std::vector<std::string> shards;
  VerifyDepth depth = VerifyDepth::auto_;
  std::string against = {};
  ListOptions images = {};
  bool strict = false;
  std::optional<std::uint64_t> threads = {};
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

struct VerifyClasses {
  std::uint64_t count = 0;
  std::uint64_t largest_label = 0;
  std::uint64_t fewest_samples = 0;
  std::uint64_t most_samples = 0;

  void describe(FieldList& v);
};

struct VerifyResult {
  static constexpr std::size_t kMostProblems = 10'000;

  std::string verdict;
  VerifyDepth depth = VerifyDepth::structure;
  std::vector<std::string> checked;
  std::uint64_t shards = 0;
  std::vector<std::string> staged_parts;
  std::uint64_t samples = 0;
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> images;
  std::optional<std::uint64_t> images_not_decoded;
  std::optional<VerifyClasses> classes;
  double bytes_per_second = 0;
  std::uint64_t problems_total = 0;
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  std::vector<Problem> problems;
  std::vector<std::string> remedies;
  bool interrupted = false;              ///< then counts and problems are those of the shards read so far
  bool strict = false;                   ///< from the options; decides has_findings()
  std::vector<std::string> shard_names;  ///< of those read, for reports

  void describe(FieldList& v);
  /// True if readers would lose or confuse data or, with `strict`, if some reader would have trouble.
  bool has_findings() const { return errors > 0 || (strict && warnings > 0); }
};

/// Checks shards, from shardctl or other programs: `shardctl verify`. Each shard is read once; several are read at a
/// time. A fault of a shard is a problem in the result, not an exception. Throws Error{not_found} if `checksum` is
/// requested and there is nothing to compare with, and the errors of resolve_shards(). After a stop while shards are
/// read, it returns what it found so far. Otherwise the result except `bytes_per_second` does not depend on threads.
VerifyResult verify(const VerifyOptions& options, Context& context);

}  // namespace shardkit::dataset
