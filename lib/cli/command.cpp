#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"

namespace shardkit::cli {

std::string_view verb_group(std::string_view verb) {
  const std::size_t blank = verb.find(' ');
  return blank == std::string_view::npos ? std::string_view() : verb.substr(0, blank);
}

std::string_view last_word(std::string_view verb) { return verb.substr(verb.find(' ') + 1); }

std::string verb_slug(std::string_view verb) {
  std::string slug(verb);
  std::replace(slug.begin(), slug.end(), ' ', '-');
  return slug;
}

std::string VerbOrGroup::summary() const {
  if (!is_group) return std::string(commands.front()->text().summary);
  std::vector<std::string_view> verbs;
  for (const Command* command : commands) verbs.push_back(last_word(command->text().name));
  return fmt::format("{}", fmt::join(verbs, ", "));
}

std::vector<VerbOrGroup> first_words(const App& app) {
  std::vector<VerbOrGroup> words;
  for (const Command& command : app.commands) {
    const std::string_view verb = command.text().name;
    const std::string_view group = verb_group(verb);
    const auto known = group.empty() ? words.end() : std::ranges::find(words, group, &VerbOrGroup::word);
    if (known != words.end()) {
      known->commands.push_back(&command);
    } else {
      words.push_back({group.empty() ? verb : group, !group.empty(), {&command}});
    }
  }
  return words;
}

std::string_view page_of(const App& app, std::string_view verb) {
  for (const auto& [name, page] : app.pages) {
    if (name == verb || name == verb_group(verb)) return page;
  }
  return {};
}

void CommonOptions::describe(FieldList& v, const Command* command) {
  v.topic("Report and log");
  v.field(
      {"json", "write the result as JSON to FILE; with -, standard output contains only the JSON", Role::output_file},
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
