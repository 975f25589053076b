#pragma once

#include <string>
#include <vector>

#include "bench/compare/compare.hpp"
#include "cli/reports/ci_report.hpp"

/// The reports of `iobench compare`.
namespace shardkit {

/// The verdict, what differs between how both sides were measured, then each metric: signed change and medians.
std::string render_compare(const CompareResult& result, bool colour);

/// True for a report whose result is a comparison's: with "rows" and "differences".
bool is_comparison(const Report& report);

/// A case for each metric and requirement, and a failed one for each difference that makes results incomparable. What
/// is inconclusive is skipped, or failed with --fail-on-inconclusive.
std::vector<CiCase> compare_cases(const Report& report);

std::string compare_markdown(const Report& report);

}  // namespace shardkit
