#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/field_tree.hpp"

/// Commands as typed by a user.
namespace shardkit {

/// Text in single quotes of a POSIX shell, with any content.
std::string shell_quoted(std::string_view text);

/// A word for POSIX shells: unchanged, or in single quotes; with control characters in the quotes $'' of bash.
std::string shell_word(std::string_view word);

/// `command` with the options that differ from `defaults`: "iobench run data --gpus 8".
std::string command_text(std::string_view command, const std::vector<FieldNode>& given,
                         const std::vector<FieldNode>& defaults);

template <Describable Options>
std::string command_text(std::string_view command, Options options) {
  return command_text(command, field_tree([&](FieldList& v) { options.describe(v); }),
                      field_tree([](FieldList& v) { Options{}.describe(v); }));
}

}  // namespace shardkit
