#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"

/// Documents made from the same descriptions as the command line itself; apps/docgen writes them to files.
namespace shardkit::cli {

/// docs/reference.md: every verb of the programs with its options and the fields of its result, in Markdown.
std::string reference_page(const std::vector<App>& apps);

/// A file's name and its text.
using NamedText = std::pair<std::string, std::string>;

/// Manual pages in section 1: one for the program, "shardctl.1", and one per verb, "shardctl-convert.1",
/// "shardctl-cache-ls.1".
std::vector<NamedText> manual_pages(const App& app);

/// Completion scripts, named as the shells look for them: bash "shardctl", zsh "_shardctl", fish "shardctl.fish".
std::string bash_completion(const App& app);
std::string zsh_completion(const App& app);
std::string fish_completion(const App& app);

}  // namespace shardkit::cli
