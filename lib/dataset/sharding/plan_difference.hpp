#pragma once

#include <optional>
#include <string>

#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"

/// How the plan that a target follows differs from the one that a command asks for.
namespace shardkit::dataset {

/// Which files a source has now, compared with those of a plan.
enum class SourceFiles {
  same,
  added,  ///< some are new, which --append may add
  gone,   ///< some are gone, which --append cannot remove
};

/// The first difference between two plans.
struct PlanDifference {
  std::string text;  ///< in words
  SourceFiles files = SourceFiles::same;
  bool is_time = false;  ///< only the modification time, or in a store the version, of an image
};

/// All options in which two plans differ, such as "the earlier run used --size 256MiB, but this one asks for --size
/// 64MiB"; empty if they agree.
std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now);

/// The first difference, in options, inputs, classes, files left out, or samples. Empty if at most the reasons differ
/// for which files were left out. Throws Error{io} if only class folders of `before` are missing, because the source
/// may be mounted again.
std::optional<PlanDifference> plan_difference(const formats::PlanReader& before, const formats::PlanReader& now,
                                              FileIdentity identity);

}  // namespace shardkit::dataset
