#include "core/command_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"

namespace shardkit {
namespace {

/// Characters that mean nothing to a shell anywhere in a word.
bool is_plain(char c) {
  constexpr std::string_view kOthers = "_-./:=,@%+";
  return is_letter(c) || is_digit(c) || kOthers.find(c) != std::string_view::npos;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// In the quotes of bash and zsh that take escapes: messages show no control characters as they are.
std::string ansi_quoted(std::string_view text) {
  std::string quoted = "$'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted.push_back('\\');
    if (is_control(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + '\'';
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted;
  quoted.push_back('\'');
  for (const char c : text) {
    if (c == '\'') quoted.append("'\\'");  // out of the quotes, the quote, and in again
    quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

std::string shell_word(std::string_view word) {
  if (std::ranges::any_of(word, is_control)) return ansi_quoted(word);
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  return shell_quoted(word);
}

std::string command_text(std::string_view command, const std::vector<FieldNode>& given,
                         const std::vector<FieldNode>& defaults) {
  std::string text(command);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const FieldNode& option = given[i];
    if (option.value == defaults.at(i).value) continue;
    const std::string name = option.field.is_operand() ? " " : fmt::format(" --{} ", option.field.name);
    if (option.kind == FieldKind::flag) {
      text.append(name, 0, name.size() - 1);
    } else if (const auto* items = std::get_if<std::vector<std::string>>(&option.value)) {
      if (option.field.is_operand()) {
        for (const std::string& item : *items) text += name + shell_word(item);
      } else {  // no item of an option contains a comma
        text += name + shell_word(fmt::format("{}", fmt::join(*items, ",")));
      }
    } else {
      text += name + shell_word(plain_text(option));
    }
  }
  return text;
}

}  // namespace shardkit
