#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"

/// Documents made from the same descriptions as the command line itself; apps/docgen writes them to files.
namespace shardkit::cli {

/// A file's name and its text.
using NamedText = std::pair<std::string, std::string>;

/// docs/reference, in Markdown: README.md with what all verbs have, and for each verb "shardctl-convert.md" with its
/// options and the fields of its result.
std::vector<NamedText> reference_pages(const std::vector<App>& apps);

/// The JSON Schema (draft 2020-12) of the envelope of one verb. Groups of fields are "$defs".
std::string envelope_schema(const App& app, const Command& command);

/// Manual pages in section 1: one for the program, "shardctl.1", and one per verb, "shardctl-convert.1",
/// "shardctl-cache-ls.1".
std::vector<NamedText> manual_pages(const App& app);

/// Completion scripts, named as the shells look for them: bash "shardctl", zsh "_shardctl", fish "shardctl.fish".
std::string bash_completion(const App& app);
std::string zsh_completion(const App& app);
std::string fish_completion(const App& app);

}  // namespace shardkit::cli
