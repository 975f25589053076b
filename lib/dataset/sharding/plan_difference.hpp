#pragma once

#include <string>

#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// All options in which two plans differ, such as "the earlier run used --size 256MiB, but this one asks for --size
/// 64MiB"; empty if they agree.
std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now);

/// The first difference between two plans.
struct PlanDifference {
  std::string text;           ///< empty: there is none
  bool may_be_added = false;  ///< there are other files, which --append may add
};

/// One line that describes how two plans differ, options first. Empty if only the reasons differ for which files were
/// left out. Throws Error{io} if only class folders of `before` are missing, because the source may be mounted again.
PlanDifference plan_difference(const formats::PlanReader& before, const formats::PlanReader& now,
                               FileIdentity identity);

}  // namespace shardkit::dataset
