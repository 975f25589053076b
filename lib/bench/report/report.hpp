#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results/result_file.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench report`: one page for people from saved results.
namespace shardkit::bench {

struct ReportOptions {
  std::vector<std::string> results;
  std::string output;
  bool redact = false;

  void describe(FieldList& v);
};

enum class ReportKind {
  result,      ///< one result of any verb of either program
  comparison,  ///< two, as compare judges them
  history,     ///< results of one node over time
};
constexpr auto enum_names(ReportKind) { return std::to_array<std::string_view>({"result", "comparison", "history"}); }

struct ReportResult {
  ReportKind kind = ReportKind::result;
  std::string headline;
  std::string output;
  std::uint64_t bytes = 0;
  std::uint64_t sections = 0;
  std::vector<LeftOut> left_out;

  void describe(FieldList& v);
};

/// Reads results and publishes the page as options.output: Markdown if its name ends in .md, or HTML. One result is
/// shown, two are compared, a folder or more results are the history of a node. Results that do not belong to it are
/// left out and listed. Throws Error{usage, corrupt, not_found}, and the errors of compare().
ReportResult report(const ReportOptions& options, Context& context);

}  // namespace shardkit::bench
