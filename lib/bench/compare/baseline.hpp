#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "bench/compare/measurements.hpp"
#include "core/context.hpp"

/// Baselines: what machines of each class gave once, in one file that a repository can hold (docs/comparing.md).
namespace shardkit {

/// True for a file of baselines. Throws what read_own_json() throws for a file that is none of ours; false for a
/// folder.
bool is_baseline(const std::string& path);

/// The stored measurements of `verb` for a class. Throws Error{not_found} that lists the classes when there are none,
/// Error{corrupt} for a damaged file.
Measurements read_baseline(const std::string& path, const std::string& machine_class, const std::string& verb);

/// Puts `measured` in the place of what the file holds for its class and verb, or makes the file. One at a time: others
/// wait, behind a hidden lock file that stays beside it. Throws Error{cancelled} when `stop` comes meanwhile.
void save_baseline(const std::string& path, const Measurements& measured, const std::stop_token& stop);

/// Warns of a baseline of fewer repetitions than a comparison needs, while it can still be made anew.
void warn_of_small_baseline(std::size_t repetitions, Context& context);

}  // namespace shardkit
