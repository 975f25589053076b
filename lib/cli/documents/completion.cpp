#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"
#include "core/command_text.hpp"

namespace shardkit::cli {
namespace {

constexpr std::string_view kHelpOfHelp = "show the help of a verb or topic";

/// Every option of a verb, the common ones and --help too.
std::vector<FieldNode> all_options(const CommandDoc& doc) {
  std::vector<FieldNode> options;
  for (const auto* part : {&doc.options, &doc.common}) {
    for (const FieldNode& option : *part) {
      if (!option.field.is_operand()) options.push_back(option);
    }
  }
  FieldNode& help = options.emplace_back();
  help.field = {"help", "show the help of this verb"};
  help.kind = FieldKind::flag;
  return options;
}

std::vector<VerbOrGroup> groups(const App& app) {
  std::vector<VerbOrGroup> words = first_words(app);
  std::erase_if(words, [](const VerbOrGroup& word) { return !word.is_group; });
  return words;
}

/// What `help` takes: verbs, groups, shared topics and the exit codes.
std::string words_of_help(const App& app) {
  std::string words = "exit-codes";
  for (const VerbOrGroup& first : first_words(app)) words += fmt::format(" {}", first.word);
  for (const SharedTopic& topic : app.shared_topics) words += fmt::format(" {}", topic.word);
  return words;
}

/// Values that are offered for an option.
struct Values {
  std::vector<std::string_view> words;
  bool list = false;  ///< several may be given, separated by commas
};

/// The words of a placeholder: dali, wids and energon of "dali,wids,energon", auto of "I/N|auto".
Values placeholder_words(const FieldNode& option) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::string_view name = option.field.value_name;
  Values values{{}, option.kind == FieldKind::texts || name.find(',') != std::string_view::npos};
  for (std::size_t start = 0; start < name.size();) {
    const std::size_t end = std::min(name.find_first_of("|,", start), name.size());
    const std::string_view word = name.substr(start, end - start);
    if (word == "FILE") return {};  // names of files are completed instead
    if (!word.empty() && word.find_first_not_of(letters) == std::string_view::npos) values.words.push_back(word);
    start = end + 1;
  }
  return values;
}

Values values_of(const App& app, const FieldNode& option) {
  if (option.kind == FieldKind::choice) return {{option.choices.begin(), option.choices.end()}, false};
  for (const auto& [name, words] : app.option_values) {
    if (name == option.field.name) return {words, false};
  }
  return placeholder_words(option);
}

/// "-j", "--threads"
std::vector<std::string> names_of(const FieldNode& option) {
  std::vector<std::string> names{option.field.spelling()};
  if (option.field.short_name != 0) names.insert(names.begin(), fmt::format("-{}", option.field.short_name));
  return names;
}

/// One branch of the bash function: the words for "--option <here>" if it has some, else the verb's options.
std::string bash_verb(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::vector<std::string> all;
  std::string choices;
  for (const FieldNode& option : all_options(doc)) {
    const std::vector<std::string> names = names_of(option);
    all.insert(all.end(), names.begin(), names.end());
    const Values values = values_of(app, option);
    if (values.words.empty()) continue;
    choices += fmt::format("        {}) words='{}'{} ;;\n", fmt::join(names, "|"), fmt::join(values.words, " "),
                           values.list ? " list=1" : "");
  }
  std::string out = fmt::format("    {})\n      options='{}'\n", verb_slug(doc.text.name), fmt::join(all, " "));
  if (!choices.empty()) out += fmt::format("      case \"$before\" in\n{}      esac\n", choices);
  return out + "      ;;\n";
}

/// After the first word of a group: offers the second, or joins both to the name that the branches of verbs have.
std::string bash_group(const VerbOrGroup& group) {
  std::vector<std::string_view> verbs;
  for (const Command* command : group.commands) verbs.push_back(last_word(command->text().name));
  return fmt::format(
      "  if [ \"$verb\" = {0} ]; then\n    if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
      "      COMPREPLY=($(compgen -W '{1} --help' -- \"$word\"))\n      return\n    fi\n"
      "    verb=\"{0}-${{COMP_WORDS[2]}}\"\n  fi\n",
      group.word, fmt::join(verbs, " "));
}

/// The words after a colon in a zsh specification: values, files or nothing.
std::string zsh_value(const App& app, const FieldNode& option) {
  if (option.kind == FieldKind::flag) return {};
  const Values values = values_of(app, option);
  if (values.words.empty()) return fmt::format(":{}:_files", value_name(option));
  return values.list ? fmt::format(":value:_values -s , value {}", fmt::join(values.words, " "))
                     : fmt::format(":value:({})", fmt::join(values.words, " "));
}

std::string zsh_verb(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::string out = fmt::format("    {})\n      _arguments \\\n", verb_slug(doc.text.name));
  for (const FieldNode& option : all_options(doc)) {
    for (const std::string& name : names_of(option)) {
      const std::string spec =
          fmt::format("{}[{}]{}", name, escaped(option.field.help, "[]:\\"), zsh_value(app, option));
      out += fmt::format("        {} \\\n", shell_quoted(spec));
    }
  }
  return out + "        '*:file:_files'\n      ;;\n";
}

/// One row for _describe.
std::string zsh_word(std::string_view word, std::string_view summary) {
  return fmt::format("      {}\n", shell_quoted(fmt::format("{}:{}", word, summary)));
}

std::string zsh_group(const VerbOrGroup& group) {
  std::string out = fmt::format(
      "  if [[ $verb == {} ]]; then\n    if (( CURRENT == 2 )); then\n      local -a verbs=(\n", group.word);
  for (const Command* command : group.commands) {
    out += zsh_word(last_word(command->text().name), command->text().summary);
  }
  return out + fmt::format(
                   "      )\n      _describe verb verbs\n      return\n    fi\n    verb={}-$words[2]\n    shift words\n"
                   "    (( CURRENT-- ))\n  fi\n",
                   group.word);
}

/// Text within single quotes of fish, in which a backslash escapes.
std::string fish_quoted(std::string_view text) { return fmt::format("'{}'", escaped(text, "'\\")); }

std::string fish_verb(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  const std::string_view group = verb_group(doc.text.name);
  std::string out;
  if (!group.empty()) {
    out = fmt::format("complete -c {0} -n '__{0}_at {1}' -f -a {2} -d {3}\n", app.name, group, last_word(doc.text.name),
                      fish_quoted(doc.text.summary));
  }
  for (const FieldNode& option : all_options(doc)) {
    out += fmt::format("complete -c {0} -n '__{0}_in {1}' -l {2} -d {3}", app.name, doc.text.name, option.field.name,
                       fish_quoted(option.field.help));
    if (option.field.short_name != 0) out += fmt::format(" -s {}", option.field.short_name);
    const Values values = values_of(app, option);
    if (!values.words.empty()) {
      const std::string words = fmt::format("{}", fmt::join(values.words, " "));
      out += fmt::format(" -x -a '{}'", values.list ? fmt::format("(__fish_append , {})", words) : words);
    } else if (option.kind != FieldKind::flag) {
      out += " -r";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string bash_completion(const App& app) {
  std::vector<std::string_view> words;
  for (const VerbOrGroup& first : first_words(app)) words.push_back(first.word);
  std::string out = fmt::format(
      "# bash completion for {0}\n_{0}() {{\n  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" "
      "before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words='' list='' options='' done=''\n  local "
      "verb=\"${{COMP_WORDS[1]}}\"\n  "
      "COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '{1} help --help --version' -- \"$word\"))\n"
      "    return\n  fi\n  [ \"$before\" = = ] && before=\"${{COMP_WORDS[COMP_CWORD-2]}}\"\n",
      app.name, fmt::join(words, " "));
  for (const VerbOrGroup& group : groups(app)) out += bash_group(group);
  out += fmt::format("  case \"$verb\" in\n    help) words='{}' ;;\n", words_of_help(app));
  for (const Command& command : app.commands) out += bash_verb(app, command);
  out += fmt::format(
      "  esac\n  if [ -n \"$words\" ]; then\n    [[ -n \"$list\" && \"$word\" == *,* ]] && done=\"${{word%,*}},\"\n"
      "    COMPREPLY=($(compgen -P \"$done\" -W \"$words\" -- \"${{word#\"$done\"}}\"))\n"
      "  elif [[ \"$word\" == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n  fi\n}}\n"
      "complete -o default -F _{0} {0}\n",
      app.name);
  return out;
}

std::string zsh_completion(const App& app) {
  std::string out =
      fmt::format("#compdef {0}\n_{0}() {{\n  if (( CURRENT == 2 )); then\n    local -a verbs=(\n", app.name);
  for (const VerbOrGroup& first : first_words(app)) out += zsh_word(first.word, first.summary());
  out += zsh_word("help", kHelpOfHelp);
  out +=
      "    )\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n";
  for (const VerbOrGroup& group : groups(app)) out += zsh_group(group);
  out += fmt::format("  case $verb in\n    help) compadd {} ;;\n", words_of_help(app));
  for (const Command& command : app.commands) out += zsh_verb(app, command);
  return out + fmt::format("  esac\n}}\n_{0} \"$@\"\n", app.name);
}

std::string fish_completion(const App& app) {
  std::string out = fmt::format(
      "# Whether the command line so far is these words, or starts with them.\n"
      "function __{0}_at\n  set -l words (commandline -opc)\n  test \"$words\" = \"$words[1] $argv\"\nend\n"
      "function __{0}_in\n  set -l words (commandline -opc)\n"
      "  string match -q -- \"$words[1] $argv *\" \"$words \"\nend\n"
      "complete -c {0} -n __fish_use_subcommand -f -l version -d 'show version and commit'\n",
      app.name);
  for (const VerbOrGroup& first : first_words(app)) {
    out += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", app.name, first.word,
                       fish_quoted(first.summary()));
  }
  out += fmt::format(
      "complete -c {0} -n __fish_use_subcommand -f -a help -d {1}\ncomplete -c {0} -n '__{0}_at help' -f -a '{2}'\n",
      app.name, fish_quoted(kHelpOfHelp), words_of_help(app));
  for (const Command& command : app.commands) out += fish_verb(app, command);
  return out;
}

}  // namespace shardkit::cli
