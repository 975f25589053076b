#include "bench/report/report.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_report(const bench::ReportResult& result) {
  cli::Answer answer{
      .headline = fmt::format("{}, {}", format_count(result.sections, "section"), format_size(result.bytes)),
      .subject = result.output};
  answer.remarks.push_back(result.headline);
  for (const bench::LeftOut& one : result.left_out) {
    const bool is_named = one.reason.find(one.file) != std::string::npos;
    answer.hints.push_back(fmt::format("left out: {}{}", is_named ? "" : one.file + ": ", one.reason));
  }
  return answer;
}

}  // namespace

cli::Command report_command() {
  return cli::make_command<bench::ReportOptions, bench::ReportResult>(
      {.name = "report",
       .summary = "make a page with plots from saved results",
       .description =
           "Writes one HTML file that needs no network and no script, for screens, phones and paper. It starts with "
           "the "
           "error or the verdict. Every plot has its table, and the JSON is attached. If the name ends in .md, writes "
           "Markdown for a ticket or a merge request.\n\nShows one result of any verb of iobench or shardctl. Compares "
           "two results, or two folders of repetitions, as `iobench compare` does. A folder or more than two results "
           "are "
           "the history of a node: the noise of each metric, the runs at which it regressed or improved, and what "
           "changed "
           "in the environment then. Results that do not belong together are left out and listed.",
       .examples = {{"iobench report run.json -o run.html", "the result of a run as a page"},
                    {"iobench report before.json after.json -o change.html", "what changed"},
                    {"iobench report results/node17/ -o node17.html", "the history of a node"},
                    {"iobench report run.json -o ticket.md --redact", "for a ticket, without names"}}},
      bench::report, answer_report);
}

}  // namespace shardkit::apps
