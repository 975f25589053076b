#pragma once

#include <string>

#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"

/// How the plan that a target follows differs from the one that a command asks for.
namespace shardkit::dataset {

/// What the first difference is about, in the order in which differences are looked for.
enum class Difference {
  none,
  options,
  inputs,    ///< of a reshard: the tars, or an index of them
  classes,   ///< names, labels or numbers of images
  left_out,  ///< other files cannot be read now
  samples,   ///< other samples, or in another order
  content,   ///< of a file or row of a sample
  times,     ///< only the modification time, or in a store the version, of an image
};

/// Which files a source has now, compared with those of a plan.
enum class SourceFiles {
  same,
  added,  ///< some are new, which --append may add
  gone,   ///< some are gone, which --append cannot remove
};

/// The first difference between two plans.
struct PlanDifference {
  Difference kind = Difference::none;
  std::string text;  ///< in words; empty for Difference::none
  SourceFiles files = SourceFiles::same;
};

/// All options in which two plans differ, such as "the earlier run used --size 256MiB, but this one asks for --size
/// 64MiB"; empty if they agree.
std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now);

/// The first difference; none if only the reasons differ for which files were left out. Throws Error{io} if only class
/// folders of `before` are missing, because the source may be mounted again.
PlanDifference plan_difference(const formats::PlanReader& before, const formats::PlanReader& now,
                               FileIdentity identity);

}  // namespace shardkit::dataset
