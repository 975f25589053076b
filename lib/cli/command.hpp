#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "core/tone.hpp"

/// A verb as seen by both programs: its texts, and a function over plain described structs behind one interface.
namespace shardkit::cli {

/// A useful command line, and its explanation.
struct Example {
  std::string_view command;
  std::string_view explanation;
};

/// All texts about a verb. Literals.
struct CommandText {
  std::string_view name;                    ///< one word, or two: "cache ls" is of the group "cache"
  std::string_view summary;                 ///< one line, lower-case start, no final full stop
  std::string_view description;             ///< paragraphs, separated by an empty line
  std::vector<Example> examples = {};       ///< the most common first: -h shows kBriefExamples of them
  std::vector<std::string_view> main = {};  ///< names of the options that -h shows; empty: all
  bool resumable = false;                   ///< after an interruption, the same command continues
  bool prometheus = false;                  ///< takes --prometheus FILE
  int schema_version = 1;                   ///< of its result; readers of old results are in bench/results
  bool labels = false;                      ///< takes --label KEY=VALUE
  bool soft_fail = false;                   ///< accepts --soft-fail, which turns failures into exit code 0
  bool streams = false;                     ///< writes to Context::output() while it works; has no final report
  bool about_node = false;                  ///< its answer ends with host, date, version and kernel
  bool doubts = false;                      ///< its answer is shown also if it has a result and an error
  bool live = false;  ///< writes lines there while it works, instead of progress; its report follows them
};

/// A verb or an option that was removed, and what to use now.
struct Elsewhere {
  std::string_view name;     ///< "cache renew"; "convert --keep-cached"; "--html": that of any verb
  std::string_view instead;  ///< "read the shards once after the command"
};

/// The size of a terminal that a report fits.
inline constexpr std::size_t kReportColumns = 80;
inline constexpr std::size_t kReportRows = 24;

/// Summary at the end of a command: the result in one line, its main facts, and the next commands. Texts may come from
/// files: they are escaped when they are shown.
struct Answer {
  std::string headline;                   ///< "20,000 samples -> 9 shards, 2.10 GiB"; the time is added after it
  std::string subject = {};               ///< the subject, such as the target; shown after the time
  std::vector<std::string> remarks = {};  ///< sentences about the first line
  std::vector<std::pair<std::string_view, std::string>> facts =
      {};                               ///< label and text; those without text are left out
  std::string body = {};                ///< tables; may contain painted(). A terminal breaks long lines at blanks
  std::string code = {};                ///< after the body, never broken: it may be pasted
  std::vector<std::string> hints = {};  ///< after the code
  std::string end = {};                 ///< lines after the hints, as they are printed
  std::vector<std::string> next = {};   ///< commands that may follow
  Tone tone = Tone::neutral;
  bool apart = false;     ///< print an empty line before it
  bool complete = false;  ///< it contains all that --verbose would add
};

/// One line of a CI system's test report.
struct CiCase {
  enum class Outcome { passed, failed, skipped };

  std::string group;  ///< category in the CI
  std::string name;
  Outcome outcome = Outcome::passed;
  std::string message;  ///< why it failed or was skipped
};

/// Findings of a verb, for --junit and --markdown.
struct CiReport {
  std::vector<CiCase> cases;
  std::string conclusion;  ///< one line of Markdown
  std::string details;     ///< Markdown below it: tables; empty if there is nothing to list
};

/// One execution of a command: its options, then its result. One thread at a time.
struct Invocation {
  std::function<void(FieldList&)> describe_options;
  /// Does the work. Throws the errors of the command.
  std::function<void(Context&)> run;
  /// The result; before run() its default values, which are enough for documents.
  std::function<void(FieldList&)> describe_result;
  std::function<bool()> has_findings;
  /// Throws if the verb failed or was interrupted although it has a result. Call after run().
  std::function<void(const Context&)> throw_if_failed;
  /// The verb's answer after run(); empty if it has none, and then all fields of the result are shown.
  std::function<std::optional<Answer>()> answer;
  /// Only for a command with ci() set.
  std::function<CiReport()> ci_report;
};

/// A verb of a program. Copyable; creates any number of invocations.
class Command {
 public:
  using Factory = std::function<Invocation()>;

  /// `findings`: it accepts --junit FILE and --markdown FILE, because its invocations have a ci_report().
  Command(CommandText text, Factory factory, bool findings = false)
      : text_(std::move(text)), factory_(std::move(factory)), findings_(findings) {}

  const CommandText& text() const { return text_; }
  bool has_ci_report() const { return findings_; }
  Invocation prepare() const { return factory_(); }

 private:
  CommandText text_;
  Factory factory_;
  bool findings_;
};

/// Makes a command from `Result run(const Options&, Context&)`. Options and Result are described structs with useful
/// defaults. A Result with `bool has_findings() const` can end with exit code 3, one with `void throw_if_failed()
/// const` can fail and is still reported. One with `bool interrupted` contains what was known when the command was
/// stopped, and its answer says so. `answer` makes the summary from Options and Result, or from Result only;
/// without one, all fields are shown. `ci` gives the verb --junit and --markdown.
template <class Options, class Result, class AnswerOf = std::nullptr_t>
Command make_command(CommandText text, Result (*run)(const Options&, Context&), AnswerOf answer = nullptr,
                     std::type_identity_t<CiReport (*)(const Result&)> ci = nullptr) {
  const auto prepare = [run, answer, ci] {
    const auto options = std::make_shared<Options>();
    const auto result = std::make_shared<Result>();
    return Invocation{
        [options](FieldList& fields) { options->describe(fields); },
        [=](Context& context) { *result = run(*options, context); },
        [result](FieldList& fields) { result->describe(fields); },
        [result] {
          if constexpr (requires { result->has_findings(); }) return result->has_findings();
          return false;
        },
        [result]([[maybe_unused]] const Context& context) {
          if constexpr (requires { result->throw_if_failed(); }) result->throw_if_failed();
          if constexpr (requires { result->interrupted; }) {
            if (result->interrupted) context.throw_if_stopped();
          }
        },
        [=]() -> std::optional<Answer> {
          std::optional<Answer> made;
          if constexpr (std::is_invocable_v<AnswerOf, const Options&, const Result&>) made = answer(*options, *result);
          if constexpr (std::is_invocable_v<AnswerOf, const Result&>) made = answer(*result);
          if constexpr (requires { result->interrupted; }) {
            if (made && result->interrupted && !made->headline.starts_with("interrupted"))
              made->headline.insert(0, "interrupted, incomplete: ");
          }
          return made;
        },
        [=] { return ci ? ci(*result) : CiReport(); },
    };
  };
  return Command(std::move(text), prepare, ci != nullptr);
}

/// Format of standard error.
enum class LogFormat { text, json };

constexpr auto enum_names(LogFormat) { return std::to_array<std::string_view>({"text", "json"}); }

/// Options of the verbs of both programs.
struct CommonOptions {
  std::optional<std::string> json = {};
  std::optional<std::string> prometheus = {};
  std::optional<std::string> junit = {};
  std::optional<std::string> markdown = {};
  std::vector<std::string> labels = {};  ///< "KEY=VALUE"
  LogFormat log = LogFormat::text;
  bool quiet = false;
  bool verbose = false;
  bool soft_fail = false;

  /// Those of `command`; all if there is none. Every command has --json, --log, --quiet and --verbose.
  void describe(FieldList& v, const Command* command);
};

}  // namespace shardkit::cli
