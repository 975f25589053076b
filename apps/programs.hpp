#pragma once

#include "cli/app.hpp"

/// The two programs. A verb is added to one by its face and a line in that program's verbs.hpp and verbs.cpp, which is
/// all that help, JSON, manual, completion and reference need.
namespace shardkit::apps {

cli::App shardctl_app();
cli::App iobench_app();

}  // namespace shardkit::apps
