#include "cli/app.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"
#include "cli/messages.hpp"
#include "cli/outcome.hpp"
#include "cli/output_files.hpp"
#include "cli/parse.hpp"
#include "cli/report_formats.hpp"
#include "cli/signal_watch.hpp"
#include "cli/text_report.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "system/limits.hpp"

namespace shardkit::cli {
namespace {

/// "rack=r7" by its key, which has the characters of a name in Prometheus. Throws Error{usage}.
std::vector<std::pair<std::string, std::string>> parse_labels(const std::vector<std::string>& texts) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  std::vector<std::pair<std::string, std::string>> labels;
  for (const std::string& text : texts) {
    const std::size_t sign = std::min(text.find('='), text.size());
    const std::string key = text.substr(0, sign);
    const bool valid = !key.empty() && !is_digits(key.substr(0, 1)) && !key.starts_with("__") &&
                       key.find_first_not_of(kLetters) == std::string::npos;
    if (!valid || sign == text.size()) {
      throw usage_error("--label: '{}' is not KEY=VALUE, with letters, digits and _ in KEY, such as rack=r7", text);
    }
    labels.emplace_back(key, text.substr(sign + 1));
  }
  return labels;
}

/// One command line on its way from arguments to exit code.
class CommandRun {
 public:
  CommandRun(const App& app, const Command& command, const Console& console)
      : app_(app), console_(console), command_(command), text_(command.text()), invocation_(command.prepare()) {
    report_.program = app.name;
    const char* path = app.result_variable == nullptr ? nullptr : std::getenv(app.result_variable);
    if (path != nullptr && *path != '\0') result_path_ = path;
    report_.verb = text_.name;
    report_.schema_version = text_.schema_version;
    report_.started_at = std::chrono::system_clock::now();
  }

  ParseOutcome parse(const std::vector<std::string>& args) {
    ParseOutcome outcome = ParseOutcome::run;  // also to report a failure, in JSON too
    const auto attempt = [&](auto&& part) {
      try {
        part();
      } catch (...) {
        if (!report_.outcome.failure) report_.outcome = failed(std::current_exception(), 0);
      }
    };
    attempt([&] { outcome = parse_options(command_, app_.elsewhere, invocation_, common_, args); });
    for (std::optional<std::string>* file : {&common_.json, &common_.prometheus, &common_.junit, &common_.markdown}) {
      if (!*file) continue;
      const std::string pattern = *std::exchange(*file, std::nullopt);  // no file has the name of a pattern
      attempt([&] { *file = named_for_node(pattern); });
    }
    attempt([&] { report_.labels = parse_labels(common_.labels); });
    return report_.outcome.failure ? ParseOutcome::run : outcome;
  }

  /// Does the work unless parsing failed, then reports.
  int finish() {
    messages_.emplace(common_.log, report_.program, text_, console_);
    const auto start = std::chrono::steady_clock::now();
    std::stop_source stop;
    std::optional<SignalWatch> watch;
    Context context(stop.get_token());
    context.lend_log(*messages_);
    if (report_.outcome.failure) {
      require_reports();
    } else {
      work(context, stop, watch);
    }
    report_.elapsed_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report_.warnings = context.warnings();
    for (Finding& warning : report_.warnings) warning.text = without_secrets(warning.text);
    report_.options = field_tree([&](FieldList& v) { invocation_.describe_options(v); });
    hide_secrets(report_.options);
    report_.result = field_tree([&](FieldList& v) { invocation_.describe_result(v); });
    hide_secrets(report_.result);
    set_headline();
    if (common_.soft_fail) report_.outcome = softened(report_.outcome);
    const int signal = watch ? watch->signal() : 0;
    context.flush_log();
    messages_->more_warnings();
    if (has_error()) messages_->failure(report_.outcome, signal);
    write_reports();
    if (has_error()) write_termination();
    say_answer();
    messages_->done(report_);
    return report_.outcome.softened ? 0 : report_.outcome.exit_code;
  }

 private:
  void work(Context& context, const std::stop_source& stop, std::optional<SignalWatch>& watch) {
    try {
      watch.emplace(stop, [this](int signal) { say_forced_end(signal); });
      require_outputs();
      OutputStream output(console_.out, text_.live ? OutputStream::Pace::at_once : OutputStream::Pace::gathered);
      if ((text_.streams || text_.live) && !wants_json_stdout()) context.lend_output(output, common_.json.has_value());
      if (!common_.quiet && !(context.output() != nullptr && (console_.out_is_terminal || text_.live))) {
        messages_->start_progress(context.progress());
      }
      run_streaming(context, output);
      reader_left_ = output.closed();
      report_.failed_with_result = true;
      invocation_.throw_if_failed(context);
      report_.failed_with_result = false;
      report_.outcome = finished(invocation_.has_findings());
    } catch (const OutputClosed&) {
      report_.outcome = failed(std::current_exception(), 0);
      report_.outcome.exit_code = 0;  // `| head` has read enough; other tools also end silently
      output_closed_ = true;
    } catch (...) {
      report_.outcome = failed(std::current_exception(), watch ? watch->signal() : 0);
    }
    messages_->end_progress();
  }

  /// The options of all verbs, but for a --json that is standard output, then those of this verb.
  std::vector<FieldNode> options_with_reports() {
    CommonOptions reports = common_;
    if (wants_json_stdout()) reports.json.reset();
    return field_tree([&](FieldList& v) {
      reports.describe(v, &command_);
      invocation_.describe_options(v);
    });
  }

  /// Finds out before the work whether its outputs can be written.
  void require_outputs() {
    std::exception_ptr refusal;
    for (const FieldNode& output : options_with_reports()) {
      const auto* path = std::get_if<std::string>(&output.value);
      if (!output.field.is_output() || path == nullptr || (path->empty() && !output.optional)) continue;
      try {
        require_writable(output.field, *path, output.field.is_operand() ? swapped_command() : std::string());
      } catch (const Error&) {
        refused_outputs_.insert(*path);
        if (!refusal) refusal = std::current_exception();
      }
    }
    if (refusal) std::rethrow_exception(refusal);
    require_files_apart();
  }

  void set_headline() {
    if (report_.outcome.failure && !report_.failed_with_result) return;
    if (const auto answer = invocation_.answer()) report_.headline = printable(answer->headline);
  }

  /// The command with its two operands in the other order; empty unless it has two, and the first is local.
  std::string swapped_command() {
    std::vector<FieldNode> given = field_tree([&](FieldList& v) { invocation_.describe_options(v); });
    std::vector<std::string*> operands;
    for (FieldNode& node : given) {
      if (!node.field.is_operand()) continue;
      auto* many = std::get_if<std::vector<std::string>>(&node.value);
      auto* one = std::get_if<std::string>(&node.value);
      operands.push_back(one != nullptr ? one : many != nullptr && many->size() == 1 ? many->data() : nullptr);
    }
    const bool is_pair = operands.size() == 2 && operands[0] != nullptr && operands[1] != nullptr;
    if (!is_pair || is_url(*operands[0])) return {};
    std::swap(*operands[0], *operands[1]);
    return command_with(given);
  }

  std::string command_with(const std::vector<FieldNode>& given) const {
    Invocation defaults = command_.prepare();
    return command_text(title(), given, field_tree([&](FieldList& v) { defaults.describe_options(v); }));
  }

  /// Checks that no output replaces another file, before the work, and again for files made meanwhile.
  void require_files_apart() {
    outputs_clash_ = true;
    cli::require_files_apart(options_with_reports(), title());
    outputs_clash_ = false;
  }

  /// "shardctl verify"
  std::string title() const { return fmt::format("{} {}", report_.program, report_.verb); }

  /// For a command line that could not be parsed, so that its files are unknown.
  void require_reports() {
    try {
      require_outputs();
      for (const auto& path : {common_.json, common_.prometheus, common_.junit, common_.markdown}) {
        if (path && !may_replace(*path, title())) outputs_clash_ = true;
      }
    } catch (const Error&) {  // the command line is the error to report
    }
  }

  /// Also writes the output that was streamed before a failure.
  void run_streaming(Context& context, OutputStream& output) {
    try {
      invocation_.run(context);
    } catch (const OutputClosed&) {
      throw;
    } catch (...) {
      output.flush();
      throw;
    }
    output.flush();
  }

  /// On a thread of the signal watch, just before it ends the process: no stream, which the command may be holding.
  void say_forced_end(int signal) const {
    const std::string words = messages_->forced_end(signal);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words.data(), words.size());
    write_termination(kForcedEnd, how_to_go_on(text_));
  }

  void write_termination(std::string_view end, std::string_view go_on) const {
    write_termination_message(console_.termination_log, fmt::format("{}: {}", report_.program, end),
                              go_on.empty() ? "" : fmt::format("{}: {}", report_.program, go_on));
  }

  /// Repeating a wrong command line does not help.
  void write_termination() const {
    const Error& failure = *report_.outcome.failure;
    write_termination(failure_text(failure), failure.code() == ErrorCode::usage ? "" : how_to_go_on(text_));
  }

  bool has_error() const { return report_.outcome.failure && !output_closed_; }

  bool wants_json_stdout() const { return common_.json == "-"; }
  bool wants_json_file() const { return common_.json && !wants_json_stdout(); }

  /// Files first: if one fails, the report on standard output contains the error.
  void write_reports() {
    // Results are shown even if a file of them is lost, and after an interrupt as far as they go.
    const bool shows_part = report_.outcome.interrupted() || text_.doubts;
    const bool worked = !report_.outcome.failure || (report_.failed_with_result && shows_part);
    const auto attempt = [&](auto&& write) {
      try {
        write();
      } catch (...) {
        report_failed_output();
      }
    };
    if (!outputs_clash_) attempt([&] { require_files_apart(); });
    const auto write_file = [&](const std::optional<std::string>& path, auto&& text_of) {
      if (!path || outputs_clash_ || refused_outputs_.contains(*path)) return;  // which was the error itself
      attempt([&] { write_output_file(*path, text_of(report_)); });
    };
    write_file(common_.prometheus, prometheus_text);
    write_file(common_.junit, [&](const Report& report) { return junit_xml(report, invocation_.ci_report()); });
    write_file(common_.markdown, [&](const Report& report) {
      return ci_markdown(report, invocation_.ci_report(), command_with(report.options));
    });
    if (wants_json_file()) write_file(common_.json, envelope_json);
    write_file(result_path_, envelope_json);
    const std::string text = standard_output(worked);
    attempt([&] { write_unless_closed(text); });
  }

  /// A reader that closed the pipe (`| head`) is not a failure; the files were written before.
  void write_unless_closed(const std::string& text) const {
    try {
      if (!text.empty() && !reader_left_) write_standard_output(console_.out, text);
    } catch (const OutputClosed&) {
    }
  }

  void report_failed_output() {
    Outcome lost = failed(std::current_exception(), 0);
    if (common_.soft_fail) lost = softened(lost);
    if (report_.outcome.exit_code == 0) report_.outcome = lost;
    lost.exit_code = report_.outcome.exit_code;
    messages_->failure(lost, 0);
  }

  std::string standard_output(bool worked) const {
    if (wants_json_stdout()) return envelope_json(report_);
    if (!worked || text_.streams) return {};
    const std::optional<Answer> answer = invocation_.answer();
    if (!answer) return text_report(report_.result);
    const bool adds = common_.verbose && !answer->complete;
    const std::size_t columns = console_.out_is_terminal ? console_.columns : 0;
    std::string text = adds ? text_report(without_zeros(report_.result)) + "\n" : std::string();
    text += answer_text(*answer, report_.elapsed_seconds, {.color = console_.out_color, .columns = columns});
    return text_.about_node ? text + node_line(report_) : text;
  }

  /// For a user at a terminal, or with --verbose, while standard output takes data.
  void say_answer() const {
    const bool wanted = console_.err_is_terminal || (common_.verbose && text_.streams);
    if (!wanted || common_.log == LogFormat::json || report_.outcome.failure) return;
    if (!text_.streams && !wants_json_stdout()) return;
    if (const std::optional<Answer> answer = invocation_.answer()) {
      console_.err << fmt::format("{}: {}\n", report_.program, answer_line(*answer, report_.elapsed_seconds));
    }
  }

  const App& app_;
  const Console& console_;
  const Command& command_;
  const CommandText& text_;
  bool output_closed_ = false;             ///< which ended the verb
  bool reader_left_ = false;               ///< while the verb went on to its end
  bool outputs_clash_ = false;             ///< so that no report is written
  std::set<std::string> refused_outputs_;  ///< paths of reports that cannot be written, as in the error of the first
  std::optional<Messages> messages_;       ///< made when --log is known
  Invocation invocation_;
  CommonOptions common_;
  std::optional<std::string> result_path_;  ///< from the environment
  Report report_;
};

/// Parses `args`, runs the command, writes every requested report, and returns the exit code. Throws nothing: every
/// error is reported and becomes an exit code here.
int run_command(const App& app, const Command& command, const std::vector<std::string>& args, const Console& console) {
  CommandRun run(app, command, console);
  switch (run.parse(args)) {
    case ParseOutcome::brief_help:
      console.out << brief_command_help(app, command, console.columns);
      return 0;
    case ParseOutcome::full_help:
      console.out << command_help(app, command, console.columns);
      return 0;
    case ParseOutcome::run:
      break;
  }
  return run.finish();
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// `group` is the text before the word, with a blank, or empty; `known` are the possible words.
int unknown_verb(const App& app, const std::string& group, const std::string& word,
                 const std::vector<std::string>& known, const Console& console) {
  const bool is_option = word.starts_with('-');
  std::string meant = closest(word, is_option ? std::vector<std::string>{"--help", "--version"} : known);
  if (word == "-v" && group.empty()) meant = "--version";
  const auto synonym = std::ranges::find(app.synonyms, word, [](const auto& pair) { return pair.first; });
  if (group.empty() && synonym != app.synonyms.end()) meant = synonym->second;
  const std::string_view instead = replacement(app.elsewhere, group.substr(0, group.size() - !group.empty()), word);
  const std::string why = !instead.empty()
                              ? fmt::format("this verb was removed; {}", instead)
                              : fmt::format("unknown {}{}", is_option ? "option" : "verb",
                                            meant.empty() ? "" : fmt::format("; did you mean {}{}?", group, meant));
  const std::string error = fmt::format("{}: error: {}{}: {}", app.name, group, printable(word), why);
  console.err << fmt::format("{}\nrun '{} {}--help' for the list of verbs; options go after the verb\n", error,
                             app.name, group);
  write_termination_message(console.termination_log, error, "");
  return kUsageExit;
}

int run_group(const App& app, const VerbOrGroup& group, std::span<const std::string> args, const Console& console) {
  if (args.empty()) {
    console.err << group_help(app, group, console.columns);
    return kUsageExit;
  }
  if (asks_for_help(args.front()) || args.front() == "help") {
    if (args.size() > 1) return run_group(app, group, std::array{args[1], std::string("--help")}, console);
    console.out << group_help(app, group, console.columns);
    return 0;
  }
  std::vector<std::string> known;
  for (const Command* command : group.commands) {
    known.emplace_back(last_word(command->text().name));
    if (known.back() == args.front()) {
      return run_command(app, *command, {args.begin() + 1, args.end()}, console);
    }
  }
  return unknown_verb(app, fmt::format("{} ", group.word), args.front(), known, console);
}

/// Value of an environment variable; `missing` if it is not set.
std::string_view environment(const char* name, std::string_view missing) {
  const char* value = std::getenv(name);
  return value == nullptr ? missing : value;
}

/// True if colors are wanted: a terminal that supports them, and no NO_COLOR (no-color.org).
bool wants_color(int fd) {
  return isatty(fd) == 1 && environment("NO_COLOR", "").empty() && environment("TERM", "dumb") != "dumb";
}

/// True if a line can be redrawn in place.
bool is_terminal(int fd) { return isatty(fd) == 1 && environment("TERM", "") != "dumb"; }

}  // namespace

std::size_t rows_of(int fd) {
  winsize size{};
  if (isatty(fd) != 1) return std::numeric_limits<std::size_t>::max();
  return ioctl(fd, TIOCGWINSZ, &size) != 0 ? kReportRows : std::max<std::size_t>(size.ws_row, kReportRows);
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ? kHelpWidth : size.ws_col;
}

int run_app(const App& app, std::span<const std::string> args, const Console& console) {
  if (args.empty()) {
    console.err << brief_program_help(app, console.columns);
    return kUsageExit;
  }
  const std::string& first = args.front();
  if (first == "-h") {
    console.out << brief_program_help(app, console.columns);
    return 0;
  }
  if (first == "--help" || (first == "help" && args.size() == 1)) {
    console.out << program_help(app, console.columns);
    return 0;
  }
  if (first == "help") {  // "help cache ls" is "cache ls --help"
    if (args[1] == "exit-codes") {
      console.out << exit_code_help(console.columns);
      return 0;
    }
    const auto topic = std::ranges::find(app.shared_topics, args[1], &SharedTopic::word);
    if (topic != app.shared_topics.end()) {
      console.out << topic_help(app, *topic, console.columns);
      return 0;
    }
    std::vector<std::string> asked(args.begin() + 1, args.end());
    asked.emplace_back("--help");
    return run_app(app, asked, console);
  }
  if (first == "--version" || first == "-V" || first == "version") {
    console.out << fmt::format("{} {} ({})\n", app.name, build_version(), build_commit());
    return 0;
  }
  const std::vector<VerbOrGroup> words = first_words(app);
  const auto found = std::ranges::find(words, first, &VerbOrGroup::word);
  if (found == words.end()) {
    std::vector<std::string> known;
    for (const VerbOrGroup& word : words) known.emplace_back(word.word);
    return unknown_verb(app, "", first, known, console);
  }
  if (found->is_group) return run_group(app, *found, args.subspan(1), console);
  return run_command(app, *found->commands.front(), {args.begin() + 1, args.end()}, console);
}

int run_app(const App& app, int argc, const char* const* argv) {
  system::raise_descriptor_limit();
  for (const int signal : {SIGPIPE, SIGXFSZ}) {  // errors of the write, not the end of the process
    std::signal(signal, SIG_IGN);
  }
  const Console console{std::cout,
                        std::cerr,
                        is_terminal(STDERR_FILENO),
                        wants_color(STDOUT_FILENO),
                        wants_color(STDERR_FILENO),
                        isatty(STDOUT_FILENO) == 1,
                        std::clamp<std::size_t>(columns_of(STDOUT_FILENO), 60, 120),  // readable widths
                        [] { return columns_of(STDERR_FILENO); },
                        kTerminationLog};
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return run_app(app, args, console);
}

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

}  // namespace shardkit::cli
