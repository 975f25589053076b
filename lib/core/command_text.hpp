#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

/// Commands as a user would type them.
namespace shardkit {

/// Text in single quotes of a POSIX shell, whatever it holds.
std::string shell_quoted(std::string_view text);

/// A word as POSIX shells take it back: as it is, or in single quotes.
std::string shell_word(std::string_view word);

/// One option or operand, as words of a command line.
struct OptionText {
  std::string name;
  std::string words;  ///< "--gpus 8", a flag alone, or operands; empty when it has no value
  friend bool operator==(const OptionText&, const OptionText&) = default;
};

/// Collects the options of a described struct in the order of their description.
class OptionTexts final : public FieldVisitor {
 public:
  std::vector<OptionText> texts;

  using FieldVisitor::field;
  void field(const Field& field, bool& value) override;
  void field(const Field& field, std::uint64_t& value) override;
  void field(const Field& field, std::optional<std::uint64_t>& value) override;
  void field(const Field& field, double& value) override;
  void field(const Field& field, std::optional<double>& value) override;
  void field(const Field& field, std::string& value) override;
  void field(const Field& field, std::optional<std::string>& value) override;
  void field(const Field& field, std::vector<std::string>& value) override;

 protected:
  void enumeration(const Field& field, Choice choice, Assign assign, void* target) override;
  void begin_group(const Field&, bool) override {}
  void end_group() override {}
  void null_group(const Field&) override {}
  void begin_list(const Field&, std::size_t) override {}
  void begin_item() override {}
  void end_item() override {}
  void end_list() override {}

 private:
  void add(const Field& field, const std::string& value);
};

/// `command` with the options that differ from their defaults: "iobench run data --gpus 8".
std::string command_text(std::string_view command, const std::vector<OptionText>& given,
                         const std::vector<OptionText>& defaults);

template <Describable Options>
std::string command_text(std::string_view command, Options options) {
  OptionTexts given;
  options.describe(given);
  OptionTexts defaults;
  Options{}.describe(defaults);
  return command_text(command, given.texts, defaults.texts);
}

}  // namespace shardkit
