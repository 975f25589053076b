#pragma once

#include <string>

#include "cli/app.hpp"

namespace shardkit::cli {

/// Completion scripts, named as the shells look for them: bash "shardctl", zsh "_shardctl", fish "shardctl.fish".
std::string bash_completion(const App& app);
std::string zsh_completion(const App& app);
std::string fish_completion(const App& app);

}  // namespace shardkit::cli
