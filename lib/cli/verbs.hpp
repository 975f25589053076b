#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"

/// Verbs have one word ("stage") or two ("cache ls"); the first of two names a group of verbs.
namespace shardkit {

/// "cache" of "cache ls"; empty for a verb of one word.
std::string_view verb_group(std::string_view verb);

/// "ls" of "cache ls"; a verb of one word itself.
std::string_view last_word(std::string_view verb);

/// The verb in names of pages, files and schemas, where no blank can stand: "cache-ls".
std::string verb_slug(std::string_view verb);

/// What may stand first on a command line. Points into the program's commands.
struct FirstWord {
  std::string_view word;
  bool is_group = false;
  std::vector<const Command*> commands;  ///< the verb, or all of its group

  /// The verb's own, or for a group the verbs it has: "ls, warm".
  std::string summary() const;
};

/// Verbs and groups in the program's order, a group where its first verb stands. `app` outlives them.
std::vector<FirstWord> first_words(const App& app);

}  // namespace shardkit
