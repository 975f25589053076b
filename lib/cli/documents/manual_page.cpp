#include <algorithm>

#include <fmt/format.h>

#include "cli/documents/documents.hpp"
#include "cli/field_text.hpp"

/// Manual pages in the man(7) macros.
namespace shardkit::cli {
namespace {

/// Text in which troff finds nothing to interpret: backslashes and hyphens escaped, no line that starts as a request.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  return text;
}

std::string heading(const std::string& page, std::string_view summary) {
  return fmt::format(".TH {} 1 \"\" \"shardkit {}\" \"shardkit manual\"\n.SH NAME\n{} \\- {}\n", upper(troff(page)),
                     build_version(), troff(page), troff(summary));
}

std::string paragraphs(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = text.find("\n\n");
    out += troff(text.substr(0, end)) + "\n";
    if (end == std::string_view::npos) return out;
    out += ".PP\n";
    text.remove_prefix(end + 2);
  }
}

std::string tagged(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(tag), troff(text));
}

std::string exit_status() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitCode& exit : kExitCodes) out += tagged(std::to_string(exit.code), exit.meaning);
  return out;
}

std::string result_fields(const CommandDoc& doc) {
  std::string out = ".SH RESULT\nFields of \"result\" in the output of \\fB\\-\\-json\\fR:\n";
  for (const FieldNode& node : doc.result) out += tagged(node.name, node.field.help);
  return out;
}

std::string examples_section(const CommandText& text) {
  if (text.examples.empty()) return {};
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : text.examples) {
    out += fmt::format(".PP\n{}:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", troff(example.explanation), troff(example.command));
  }
  return out;
}

std::string entries(const std::vector<FieldNode>& options) {
  std::string out;
  for (const FieldNode& option : options) out += tagged(option_spelling(option), help_text(option));
  return out;
}

/// The page of the program, and the document about a verb, group or topic if there is one.
std::string see_also(const App& app, std::string_view name) {
  const std::string out = fmt::format(".SH SEE ALSO\n.BR {} (1)\n", troff(app.name));
  const std::string_view page = page_of(app, name);
  return page.empty() ? out : out + fmt::format(".PP\n.I {}/{}\n", kDocsFolder, troff(page));
}

std::string manual_page(const App& app, const Command& command) {
  const CommandDoc doc = document(command);
  std::string out = heading(fmt::format("{}-{}", app.name, verb_slug(doc.text.name)), doc.text.summary);
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", troff(synopsis(app.name, doc.text.name, doc.options)));
  out += ".SH DESCRIPTION\n" + paragraphs(doc.text.description);
  if (doc.text.resumable) out += ".PP\nAfter an interruption, run the same command again to continue.\n";
  out += ".SH OPTIONS\n";
  for (const auto* options : {&doc.options, &doc.common}) {
    for (const Topic& topic : topics(*options)) {
      out += fmt::format(".SS {}\n", troff(topic.heading));
      if (const SharedTopic* shared = shared_topic(app, topic.heading)) {
        out += fmt::format("{}: see\n.BR {}\\-{} (1).\n", troff(first_options(topic.options)), app.name, shared->word);
        continue;
      }
      out += entries(topic.options);
    }
  }
  out += result_fields(doc) + exit_status() + examples_section(doc.text);
  return out + see_also(app, doc.text.name);
}

std::string verb_row(const App& app, const Command& command) {
  return tagged(fmt::format("{}-{}(1)", app.name, verb_slug(command.text().name)), command.text().summary);
}

std::string program_page(const App& app) {
  std::string out = heading(std::string(app.name), app.summary);
  out += fmt::format(".SH SYNOPSIS\n.B {} VERB [operands] [options]\n.SH VERBS\n", troff(app.name));
  for (const Command& command : app.commands) out += verb_row(app, command);
  if (!app.shared_topics.empty()) out += ".SH TOPICS\n";
  for (const SharedTopic& topic : app.shared_topics) {
    out += tagged(fmt::format("{}-{}(1)", app.name, topic.word), topic.summary);
  }
  return out + exit_status();
}

std::string group_page(const App& app, const VerbOrGroup& group) {
  std::string out = heading(fmt::format("{}-{}", app.name, group.word), fmt::format("verbs: {}", group.summary()));
  out += fmt::format(".SH SYNOPSIS\n.B {} {} VERB [operands] [options]\n.SH VERBS\n", troff(app.name), group.word);
  for (const Command* command : group.commands) out += verb_row(app, *command);
  return out + see_also(app, group.word);
}

std::string topic_page(const App& app, const SharedTopic& topic) {
  std::string out = heading(fmt::format("{}-{}", app.name, topic.word), topic.summary);
  out += ".SH DESCRIPTION\n" + paragraphs(topic.description) + ".SH OPTIONS\n";
  return out + entries(shared_options(app, topic)) + see_also(app, topic.word);
}

}  // namespace

std::vector<NamedText> manual_pages(const App& app) {
  std::vector<NamedText> pages{{fmt::format("{}.1", app.name), program_page(app)}};
  for (const Command& command : app.commands) {
    pages.emplace_back(fmt::format("{}-{}.1", app.name, verb_slug(command.text().name)), manual_page(app, command));
  }
  for (const VerbOrGroup& word : first_words(app)) {
    if (word.is_group) pages.emplace_back(fmt::format("{}-{}.1", app.name, word.word), group_page(app, word));
  }
  for (const SharedTopic& topic : app.shared_topics) {
    pages.emplace_back(fmt::format("{}-{}.1", app.name, topic.word), topic_page(app, topic));
  }
  return pages;
}

}  // namespace shardkit::cli
