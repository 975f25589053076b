#include "core/command_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shardkit {
namespace {

/// Characters that mean nothing to a shell anywhere in a word.
bool is_plain(char c) {
  constexpr std::string_view kOthers = "_-./:=,@%+";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
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
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  return shell_quoted(word);
}

void OptionTexts::add(const Field& field, const std::string& value) {
  const std::string word = shell_word(value);
  texts.push_back({std::string(field.name), field.is_operand() ? word : fmt::format("--{} {}", field.name, word)});
}

void OptionTexts::field(const Field& field, bool& value) {
  texts.push_back({std::string(field.name), value ? fmt::format("--{}", field.name) : ""});
}

void OptionTexts::field(const Field& field, std::uint64_t& value) { add(field, std::to_string(value)); }

void OptionTexts::field(const Field& field, std::optional<std::uint64_t>& value) {
  if (value) add(field, std::to_string(*value));
}

void OptionTexts::field(const Field& field, double& value) { add(field, fmt::format("{}", value)); }

void OptionTexts::field(const Field& field, std::optional<double>& value) {
  if (value) add(field, fmt::format("{}", *value));
}

void OptionTexts::field(const Field& field, std::string& value) {
  if (!value.empty()) add(field, value);
}

void OptionTexts::field(const Field& field, std::optional<std::string>& value) {
  if (value) add(field, *value);
}

void OptionTexts::field(const Field& field, std::vector<std::string>& value) {
  for (const std::string& item : value) add(field, item);
}

void OptionTexts::enumeration(const Field& field, Choice choice, Assign, void*) {
  add(field, std::string(choice.names[choice.index]));
}

std::string command_text(std::string_view command, const std::vector<OptionText>& given,
                         const std::vector<OptionText>& defaults) {
  std::string text(command);
  for (const OptionText& option : given) {
    if (option.words.empty() || std::ranges::find(defaults, option) != defaults.end()) continue;
    text += ' ' + option.words;
  }
  return text;
}

}  // namespace shardkit
