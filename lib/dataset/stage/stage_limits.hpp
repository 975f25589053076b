#pragma once

#include "dataset/stage/stage.hpp"
#include "staging/stage_copier.hpp"

/// What the options of stage and this machine allow.
namespace shardkit {

/// Throws Error{usage} for options that no stage can follow.
void check(const StageOptions& options);

/// How many requests, how large and how fast, to a source that is `remote` or a folder.
CopyLimits copy_limits(const StageOptions& options, bool remote);

}  // namespace shardkit
