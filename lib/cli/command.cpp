#include "cli/command.hpp"

namespace shardkit::cli {

void CommonOptions::describe(FieldList& v, const Command* command) {
  v.topic("Report and log");
  v.field({"json",
           "write the result as JSON to FILE; with -, standard output contains only the JSON. In names of reports, %n "
           "is the "
           "name of the node, and %j the Slurm job",
           Role::output_file},
          json);
  if (command == nullptr || command->text().prometheus) {
    v.field({"prometheus", "write metrics to FILE for the textfile collector of Prometheus' node_exporter",
             Role::output_file},
            prometheus);
  }
  if (command == nullptr || command->has_ci_report()) {
    v.field({"junit", "write findings to FILE as JUnit XML, for the test report of a CI", Role::output_file}, junit);
    v.field({"markdown", "write findings to FILE as Markdown, for the job summary of a CI", Role::output_file},
            markdown);
  }
  if (command == nullptr || command->text().labels) {
    v.field({"label", "add KEY=VALUE to the host in the result and to all metrics, such as rack=r7", "LIST"}, labels);
  }
  v.field({"log", "format of standard error: text, or one JSON object per line"}, log);
  v.field({"quiet", "do not show progress", 'q'}, quiet);
  const bool streams = command != nullptr && command->text().streams;
  v.field({"verbose",
           streams ? "print the summary to standard error also without a terminal"
                   : "print all fields of the result, then the summary",
           'v'},
          verbose);
  if (command == nullptr || command->text().soft_fail) {
    v.field(
        {"soft-fail",
         "exit 0 even if the command fails, for prologs that would otherwise drain the node; the error and its exit "
         "code are still reported"},
        soft_fail);
  }
}

}  // namespace shardkit::cli
