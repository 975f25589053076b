#pragma once

#include <span>

#include "bench/env/environment.hpp"
#include "bench/run/run.hpp"
#include "core/context.hpp"

/// What a run warns of once it has measured, each about one thing that keeps its figures from meaning what they seem
/// to.
namespace shardkit {

/// Hints stay in the result; the room in /dev/shm is judged later, against the loader that comes of it.
void warn_of_environment(const Environment& environment, Context& context);

/// Loader processes and their batches that the machine has no room for.
void warn_of_loader(const RunOptions& options, const RunResult& result, Context& context);

/// Stages that are slower together than each alone predicts, or faster, share something that the prediction does not
/// know, or one of them was not steady.
void warn_of_pipeline(const RunResult& result, Context& context);

/// Once for all turns, where the pipeline of one made too few steps for a rate, so that none is in the ladder.
void warn_of_steps(std::span<const RunResult> turns, Context& context);

/// Images that cannot be decoded, with their share.
void warn_of_failures(const RunResult& result, Context& context);

}  // namespace shardkit
