#pragma once

#include <string>

#include "dataset/sharding/sharding_options.hpp"
#include "formats/plan_file.hpp"

namespace shardkit::dataset {

/// The first option in which two plans differ, such as "option size was 1048576, is 2097152"; empty where none does.
std::string option_difference(const formats::PlanHead& before, const formats::PlanHead& now);

/// One line that says in what two plans differ, first of all in options. Empty where only the reasons differ for which
/// files were left out: these are for people. Throws Error{io} where only class folders of `before` are gone, as the
/// source may come back.
std::string plan_difference(const formats::PlanReader& before, const formats::PlanReader& now, FileIdentity identity);

}  // namespace shardkit::dataset
